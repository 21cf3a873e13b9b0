"""Makes one picture in both themes: see tests/pictures/run, which calls it with a name."""

import os
import sys

import scenes
from svg import THEMES, Picture
from world import World

FOLDER = os.environ["PICTURES"]
SIZE = 12

CAPTIONS = [
    "web1 has the lock “site” and deploys.",
    "web2 asks for the same lock and waits. A live line shows its place in the queue, and who holds the lock.",
    "Somebody kills fairlock on web1. Its deploy.sh is stopped first. Then web2 gets the lock and starts.",
]


def takeover(world):
    picture = Picture(830, "web1 holds a lock and web2 waits for it. fairlock on web1 is killed, and web2 starts.")
    size, y = 11.8, 0
    for index, (left, right) in enumerate(scenes.takeover(world), 1):
        picture.caption(0, y, index, CAPTIONS[index - 1])
        rows = max(len(left), len(right), 2)
        end = picture.window(0, y + 26, "web2", left, 74, rows, size)
        note = "kill -9" if index == len(CAPTIONS) else ""
        picture.window(830 - picture.width_of(35, size), y + 26, "web1", right, 35, rows, size, note)
        y = end + 14
    return picture


def of_one_screen(scene, title):
    """The prompt below is left out, and what no line needs at the right."""

    def make(world):
        lines = scene(world)[:-1]
        picture = Picture(0, title)
        picture.window(0, 0, "web1", lines, max(map(len, lines)) + 1, len(lines), SIZE)
        return picture

    return make


PICTURES = {
    "takeover": takeover,
    "status": of_one_screen(scenes.status, "fairlock status: two locks that are held; two hosts wait for one of them. A last line counts one free lock."),
    "log": of_one_screen(scenes.log, "fairlock log --plot: an hour of a lock, drawn to scale."),
    "doctor": of_one_screen(scenes.doctor, "fairlock doctor: what it finds about a server, with a warning and its remedy."),
}


def main(name):
    world = World(os.environ["BUILD"], os.environ["SERVER"], os.environ["CLI"])
    try:
        picture = PICTURES[name](world)
    finally:
        world.close()
    for theme in THEMES:
        with open(os.path.join(FOLDER, f"{name}-{theme}.svg"), "w", encoding="utf-8") as file:
            file.write(picture.svg(theme))


main(sys.argv[1])
