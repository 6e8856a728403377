#!/usr/bin/env python3
"""A declaration that points upward is found, and so is a room that needs one above it to link."""

import os
import shutil
import subprocess
import tempfile
import unittest

import declarations

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))

HEADER = """#pragma once
#include <map>
#include <string>
namespace weft {
inline int one() { return 1; }
enum class Colour { red, green };
template <class T> T same(T value);
namespace low {
/// A comment; with a semicolon, and f(x).
[[nodiscard]] std::map<std::string, int> twice(const std::string& text, int n = 2,
                                               std::string more = {}) noexcept(false);
class Shape : public std::map<int, int> {
 public:
  Shape() = default;
  explicit Shape(int corners);
  ~Shape();
  Shape& operator=(const Shape&) = delete;
  bool operator<(const Shape& other) const;
  int corners() const noexcept { return corners_; }
  int area() const;
  friend int beside(const Shape&);
  struct Point { int x = int(1); int length() const; };
  static int made;
 private:
  int corners_ = 0;
};
}  // namespace low
extern int total;
constexpr int kLimit = 3;
}  // namespace weft
extern "C" {
int weft_low(void);
}
"""
NAMES = {"weft::low::twice", "weft::low::Shape::Shape", "weft::low::Shape::~Shape",
         "weft::low::Shape::operator<", "weft::low::Shape::area",
         "weft::low::Shape::Point::length", "weft::low::Shape::made", "weft::total", "weft_low"}
SOURCE = """#include "low/a.hpp"
namespace weft {
int total = 0;
namespace low {
std::map<std::string, int> twice(const std::string& text, int, std::string) {
  return {{text, 2}};
}
Shape::Shape(int corners) : corners_(corners) {}
Shape::~Shape() {}
bool Shape::operator<(const Shape& other) const { return corners_ < other.corners_; }
int Shape::area() const { return 1; }
int Shape::Point::length() const { return 1; }
int Shape::made = 0;
}  // namespace low
}  // namespace weft
int weft_low(void) { return 1; }
"""
PROJECT = f"""cmake_minimum_required(VERSION 3.25)
project(planted LANGUAGES CXX)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
include({ROOT}/cmake/WeftRoom.cmake)
function(weft_precompile)
endfunction()
weft_room(low)
weft_room(high DEPENDS low)
weft_rooms_link_alone(rooms_link_alone ${{CMAKE_BINARY_DIR}}/rooms.txt)
"""


class Declarations(unittest.TestCase):
    def test_of_a_header(self):
        self.assertEqual(declarations.declarations(HEADER), NAMES)


class Planted(unittest.TestCase):
    """Two rooms, of which `high` may use `low`."""

    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="weft-lint-")
        self.addCleanup(shutil.rmtree, self.root)
        self.write("CMakeLists.txt", PROJECT)
        self.write("low/a.hpp", HEADER)
        self.write("low/a.cpp", SOURCE)
        self.write("high/b.hpp", '#pragma once\n#include "low/a.hpp"\nint high(int number);\n')
        self.write("high/b.cpp",
                   '#include "high/b.hpp"\nint high(int number) { return number + weft_low(); }\n')

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def build(self):
        """Whether each room links with those below it alone; and what was said."""
        build = os.path.join(self.root, "build")
        for words in (["-S", self.root, "-B", build, "-G", "Ninja", "-Wno-dev"],
                      ["--build", build, "--target", "rooms_link_alone"]):
            done = subprocess.run(["cmake", *words], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=200, check=False)
            if done.returncode != 0:
                break
        return done.returncode == 0, done.stdout

    def faults(self):
        with open(os.path.join(self.root, "build/rooms.txt"), encoding="utf-8") as file:
            libraries = dict(line.split() for line in file)
        return list(declarations.faults(self.root, libraries))

    def test_clean(self):
        links, said = self.build()
        self.assertTrue(links, said)
        self.assertEqual(self.faults(), [])

    def test_a_declaration_that_nothing_below_calls(self):
        self.write("low/a.cpp", SOURCE.replace("int Shape::area() const { return 1; }", "")
                   .replace("int total = 0;", ""))
        self.write("high/b.cpp", '#include "high/b.hpp"\nint high(int number) { return number; }\n'
                   "int weft::low::Shape::area() const { return 1; }\nint weft::total = 0;\n")
        links, said = self.build()
        self.assertTrue(links, said)
        self.assertEqual(self.faults(), [
            "low/a.hpp: declares weft::low::Shape::area, which high defines",
            "low/a.hpp: declares weft::total, which high defines"])

    def test_a_call_upward(self):
        self.write("low/c.cpp", "int high(int number);\nint low() { return high(1); }\n")
        links, said = self.build()
        self.assertFalse(links)
        self.assertIn("undefined reference to `high(int)'", said)


if __name__ == "__main__":
    unittest.main()
