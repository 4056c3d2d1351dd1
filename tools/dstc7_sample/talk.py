"""What the people in the DSTC7 fixtures say; every sentence is made up."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """A thing to talk about: how it is raised, followed up, and answered.

    The answers are paraphrases of each other. Braces name what differs from talk to talk.
    """

    openings: tuple[str, ...]
    replies: tuple[str, ...]
    follow_ups: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True)
class Talk:
    """Topics, what fills their braces, and short answers that fit anywhere."""

    topics: tuple[Topic, ...]
    fillers: Mapping[str, tuple[str, ...]]
    short: tuple[str, ...]


UBUNTU = Talk(
    topics=(
        Topic(
            ("{package} will not start since the upgrade to {release}", "why does {package} die?"),
            ("any message?", "since when?", "did it ever work on {release} ?"),
            ("it only says segmentation fault", "nothing in the terminal. just gone"),
            (
                "start {package} from a terminal and pastebin what it says",
                "run {package} in a terminal, then put the output into a pastebin",
                "please pastebin the output of {package} when started by hand",
            ),
        ),
        Topic(
            ("how do i get {package} on {release} ?", "apt says unable to locate {package}"),
            ("which repositories are enabled ?", "did you update first?"),
            ("only main i think", "yes, still no candidate for it"),
            (
                "enable universe, then sudo apt-get update and install {package}",
                "{package} lives in universe: switch that on and update",
                "it is in universe. enable it, then apt-get install {package}",
            ),
        ),
        Topic(
            ("{package} eats all of my memory", "my laptop gets hot when {package} is open"),
            ("how much is it ?", "what does top say?"),
            ("about 90% after an hour", "2 gigs and growing.. any idea?"),
            (
                "that is a known leak of {package} in {release}, a fix is in -proposed",
                "known bug: {package} leaks on {release}. try the one from -proposed",
            ),
        ),
        Topic(
            ("where does {package} keep its settings?", "i want a fresh {package}, no old stuff"),
            ("system wide or yours ?", "did you purge it?"),
            ("just mine", "yes but the settings are still there"),
            (
                "move ~/.{package} out of the way and it makes a new one",
                "rename the folder ~/.{package} - {package} will create it again",
            ),
        ),
        Topic(
            ("no sound in {package}", "{package} is silent but the browser plays fine"),
            ("is it muted in the mixer ?", "usb headset or speakers?"),
            ("mixer looks ok", "speakers, they work elsewhere"),
            (
                "open pavucontrol while {package} plays and look at the output tab",
                "pavucontrol, playback tab, see where {package} sends its sound",
            ),
        ),
        Topic(
            ("permission denied when {package} saves a file", "{package} cannot write to my disk"),
            ("who owns the folder ?", "is the disk mounted read only?"),
            ("root does, i used sudo once", "ls says root root"),
            (
                "give it back to you: sudo chown -R $USER on that folder, and no sudo {package}",
                "chown the folder to yourself and never run {package} with sudo",
            ),
        ),
    ),
    fillers={
        "package": (
            *("gimp", "vlc", "samba", "nginx", "audacity", "inkscape", "thunderbird", "mdadm"),
            *("blender", "mutt", "gparted", "cups", "rsync", "tmux", "wine", "evolution"),
        ),
        "release": ("10.04", "12.04", "12.10", "14.04", "16.04"),
    },
    short=("ok thanks", "yes", "no idea, sorry", "thanks :)", "lol", "what?", "sure", "np"),
)

ADVISING = Talk(
    topics=(
        Topic(
            ("Is {course} a lot of work?", "How many hours a week does {course} take?"),
            ("Do you have a job besides?", "How many credits do you take already?"),
            ("I work ten hours a week", "Eight credits so far"),
            (
                "{course} has a moderate workload for most students",
                "Most students find the workload of {course} moderate",
                "The workload in {course} is about average",
                "I would call {course} average as far as work goes",
            ),
        ),
        Topic(
            ("Can I take {course} next term?", "I would like to sign up for {course}"),
            ("What have you taken so far?", "Did you finish {other}?"),
            ("I am taking {other} right now", "I have finished {other}"),
            (
                "You need {other} before you take {course}",
                "{other} is a prerequisite of {course}",
                "For {course} you must have passed {other}",
            ),
        ),
        Topic(
            ("When does {course} meet?", "Is {course} in the afternoon?"),
            ("Do you prefer mornings?", "Are you free on Fridays?"),
            ("I would rather sleep in", "Fridays are fine"),
            (
                "{course} meets on {day} afternoons",
                "The lectures of {course} are on {day} after lunch",
                "On {day} afternoons",
            ),
        ),
        Topic(
            ("Who teaches {course}?", "Is {course} with {person} any good?"),
            ("Have you had {person} before?", "What matters to you in a teacher?"),
            ("No, never", "Clear explanations"),
            (
                "{person} teaches {course} and is rated as very clear",
                "{course} is with {person}, whose ratings for clarity are high",
                "Students say that {person} explains {course} very well",
            ),
        ),
        Topic(
            ("What comes after {course}?", "I liked {course}, what is similar?"),
            ("Theory or projects?", "What did you like about it?"),
            ("The projects", "The mathematics in it"),
            (
                "If you liked {course}, {other} would be a good choice",
                "{other} is the natural next step after {course}",
            ),
        ),
    ),
    fillers={
        "course": ("EECS280", "EECS281", "EECS370", "EECS376", "EECS445", "EECS482", "EECS484"),
        "other": ("EECS183", "EECS203", "EECS485", "EECS490", "EECS492", "EECS493"),
        "day": ("Monday", "Tuesday", "Wednesday", "Thursday"),
        "person": ("Ada Example", "Ben Sample", "Cleo Testperson", "Dan Placeholder"),
    },
    short=("You are welcome!", "Is there anything else?", "Sure", "Good luck!", "Let me see"),
)
