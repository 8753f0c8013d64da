#!/usr/bin/env python3
"""Keeps the documentation true: its links resolve, its commands run, and what
it shows as their output is their output.

Usage: docs.py ROOT                       checks links and fences
       docs.py ROOT --run BUILD SCRATCH   also runs the commands
       docs.py ROOT --update BUILD SCRATCH   rewrites the shown output

A fence names what it holds:
  sh            commands that are run, in a copy of the tree's layout in which
                build/release is BUILD; each file of the docs starts afresh
  sh setup      installs or builds: listed, its programs must exist
  sh gpu        needs a GPU: listed, its programs must exist
  LANG output   what the commands before it print, exactly
  LANG file=P   the text of file P of the tree without leading comments
  LANG          text (mlir, cpp, cmake, json, text, ...)
Documentation written by generate-docs.sh is checked for links only.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys

from common import files, finish

LANGUAGES = {"mlir", "c", "cpp", "cmake", "json", "text", "python", "asm"}
FENCE = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.M | re.S)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.M)
GENERATED = "<!-- Written by tools/scripts/generate-docs.sh"
TIMEOUT_S = 120


class Page:
    def __init__(self, root, path):
        self.root, self.path = root, path
        with open(os.path.join(root, path), encoding="utf-8") as file:
            self.text = file.read()
        self.generated = self.text.startswith(GENERATED)

    def where(self, offset):
        return f"{self.path}:{self.text.count(chr(10), 0, offset) + 1}"

    def prose(self):
        """The text with code blanked out, offsets kept."""
        def blank(match):
            return re.sub(r"[^\n]", " ", match.group(0))
        return re.sub(r"`[^`\n]*`", blank, FENCE.sub(blank, self.text))

    def anchors(self):
        slugs = set()
        for heading in HEADING.findall(FENCE.sub("", self.text)):
            slug = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
            slugs.add(slug.strip().replace(" ", "-"))
        return slugs

    def fences(self):
        """(match, info, body without the indent of the fence) of each fence."""
        for match in FENCE.finditer(self.text):
            indent, info, body = match.groups()
            yield match, info, re.sub(f"^{indent}", "", body, flags=re.M)


def check_links(page, pages):
    for match in LINK.finditer(page.prose()):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"\w+:", target):
            continue
        path = page.path if not target else os.path.normpath(
            os.path.join(os.path.dirname(page.path), target))
        if not os.path.exists(os.path.join(page.root, path)):
            yield f"{page.where(match.start())}: no {target}"
        elif anchor and path in pages and anchor not in pages[path].anchors():
            yield f"{page.where(match.start())}: no #{anchor} in {path}"


def file_text(root, path):
    """The file without the comments and blank lines that it opens with."""
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return re.sub(r"\A(//[^\n]*\n|\s*\n)+", "", file.read())


def check_fences(page):
    for match, info, body in page.fences():
        where = page.where(match.start())
        language, _, what = info.partition(" ")
        if language == "sh":
            if what not in ("", "setup", "gpu"):
                yield f"{where}: sh or sh setup or sh gpu, not sh {what}"
        elif language not in LANGUAGES:
            yield f"{where}: fence of unknown kind '{info}'"
        elif what.startswith("file="):
            path = what[len("file="):]
            if not os.path.exists(os.path.join(page.root, path)):
                yield f"{where}: no {path}"
            elif file_text(page.root, path) != body:
                yield f"{where}: differs from {path}"
        elif what not in ("", "output"):
            yield f"{where}: fence of unknown kind '{info}'"


def sandbox(root, build, scratch):
    """A folder laid out like a built tree, so that commands read as in docs."""
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(os.path.join(scratch, "build"))
    for name in os.listdir(root):
        if name not in ("build", ".git", "out"):
            os.symlink(os.path.join(root, name), os.path.join(scratch, name))
    os.symlink(build, os.path.join(scratch, "build", "release"))


def run(commands, directory):
    try:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands], cwd=directory,
            capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"ran for more than {TIMEOUT_S} s", ""
    if done.returncode:
        return f"exit code {done.returncode}\n{done.stderr}", done.stdout
    return None, done.stdout


def missing_programs(commands, directory):
    """Programs of the tree that the commands name and that are not there."""
    for line in commands.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        words = [w for w in words if not re.match(r"\w+=", w)]
        if words and "/" in words[0]:
            if not os.path.exists(os.path.join(directory, words[0])):
                yield words[0]


def run_page(page, directory, update):
    """Yields findings; with update, writes the outputs into the page."""
    printed, edits = None, []
    for match, info, body in page.fences():
        where = page.where(match.start())
        if info == "sh":
            problem, printed = run(body, directory)
            if problem:
                yield f"{where}: {problem}"
        elif info in ("sh setup", "sh gpu"):
            for program in missing_programs(body, directory):
                yield f"{where}: no program {program}"
        elif info.endswith(" output"):
            if printed is None:
                yield f"{where}: output of no command"
            elif printed.strip("\n") != body.strip("\n"):
                if update:
                    lines = printed.strip("\n").splitlines()
                    edits.append((match.span(3), "".join(
                        f"{match.group(1)}{line}".rstrip() + "\n"
                        for line in lines)))
                else:
                    yield (f"{where}: the commands print something else; "
                           f"--update shows it:\n{printed}")
    for (start, end), text in reversed(edits):
        page.text = page.text[:start] + text + page.text[end:]
    if edits:
        with open(os.path.join(page.root, page.path), "w",
                  encoding="utf-8") as file:
            file.write(page.text)


def main(root, mode=None, build=None, scratch=None):
    root = os.path.abspath(root)
    pages = {path: Page(root, path) for path in files(root, ".", ".md")}
    findings = []
    for page in pages.values():
        findings += check_links(page, pages)
        if page.generated:
            continue
        findings += check_fences(page)
        if mode:
            directory = os.path.join(os.path.abspath(scratch),
                                     page.path.replace("/", "-"))
            sandbox(root, os.path.abspath(build), directory)
            findings += run_page(page, directory, mode == "--update")
    finish(findings)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    if len(arguments) not in (1, 4) or (
            len(arguments) == 4 and arguments[1] not in ("--run", "--update")):
        sys.exit(__doc__)
    main(*arguments)
