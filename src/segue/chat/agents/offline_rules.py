"""The rules of the offline agent: one table, from the most specific sign in a message to the least.

A rule has a pattern, its sign, and replies, of which each match takes the next one. A reply is a remark and a question;
`{quote}` and the other slots in braces are filled with the user's own words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PLAINLY = "I am a set of rules on this machine, not a model."
INTRODUCTION = (
    f"{PLAINLY} I do not look anything up, and I know nothing about your subject. I read your message closely, compare "
    "it with what you said before and what you attached, and ask the next question."
)
_ABOUT_ME = (
    f"{PLAINLY} Nothing you type leaves it, and I do not look anything up. With an API key, or an AI tool on the PATH, "
    "a model answers instead of me."
)
_ABOUT_US = (
    "Tell me a claim, a plan, a bug, or a choice between two things. I ask for what is missing in it: the evidence, "
    "the cost, the exception, the first step. Say “recap” for what you have said so far; `/decide` records a decision, "
    "`/context` attaches a file that I can quote from, `/help` lists the rest."
)


class Reply(NamedTuple):
    remark: str
    question: str


class Rule(NamedTuple):
    name: str
    sign: re.Pattern[str]
    replies: tuple[Reply, ...]
    needs: str = ""
    """The slot without which the rule does not apply: `before`, `asked`, `recap`."""
    has_subject: bool = True
    """Whether earlier messages on the same subject are worth quoting; a greeting has no subject."""


def _rule(name: str, sign: str, *replies: tuple[str, str], needs: str = "", about: bool = True) -> Rule:
    return Rule(name, re.compile(sign, re.IGNORECASE), tuple(Reply(*reply) for reply in replies), needs, about)


_THING = r"[\w.+#/'-]+(?: [\w.+#/'-]+){0,3}?"
_WORD = r"[\w.+#/-]+"
AMOUNT_SIGN = (
    r"(?P<number>[$€£]\s?\d[\d.,]*\d?[kmb]?\b|\b\d[\d.,]*\s?(?:%|percent\b|[kmgt]b\b|ms\b|seconds?\b|minutes?\b|hours?\b|days?\b"
    r"|weeks?\b|months?\b|years?\b|euros?\b|dollars?\b|users?\b|customers?\b|people\b|requests?\b|rows?\b|lines?\b|files?\b"
    r"|tests?\b|servers?\b|times\b|x\b))"
)

AMOUNT = re.compile(AMOUNT_SIGN, re.IGNORECASE)

_COMPARED = (
    ("{left} against {right}.", "Which one criterion would settle it, and how do the two really score on it?"),
    (
        "Let me take the other side: {right} it is, and {left} was a mistake.",
        "What would have to be true for that to be right?",
    ),
    ("Suppose you are wrong about {left} against {right}.", "Which of the two is cheaper to undo in half a year?"),
    (
        "{left} and {right} are not the only choices.",
        "What about a third way, or leaving it as it is: why is that ruled out?",
    ),
)

RULES: tuple[Rule, ...] = (
    _rule(
        "identity",
        r"\b(?:who|what) are you\b|\bare you (?:an? |the )?(?:real |language |actual )*(?:model|ai|llm|bot|human|person"
        r"|machine|chatgpt|gpt|claude|gemini)\b|\b(?:which|what) model\b|\bis this an? (?:ai|llm|model|bot)\b",
        (_ABOUT_ME, "Until then I can still make you argue: what are you trying to settle?"),
        about=False,
    ),
    _rule(
        "help",
        r"^\W*help\W*$|\bwhat can you do\b|\bhow do you work\b|\bhow does this work\b",
        (_ABOUT_US, "What is on the table?"),
        about=False,
    ),
    _rule(
        "recap",
        r"\b(?:recap|summar(?:y|i[sz]e)|sum (?:it|this) up|where (?:were|are) we|so far\?)",
        ("{recap}", "What on this list would you no longer say?"),
        ("{recap}", "If you had to cut the list to one line, which one stays?"),
        needs="recap",
        about=False,
    ),
    _rule(
        "farewell",
        r"^\W*(?:thanks?|thank you|bye|goodbye|that'?s (?:all|it)|see you|good night|done for (?:now|today))\b.{0,30}$",
        (
            "{recap}\n\nEverything is saved, and you can continue from here at any time.",
            "One last thing: what is the first step, and when do you take it?",
        ),
        about=False,
    ),
    _rule(
        "greeting",
        r"^\W*(?:hi|hello|hey|good (?:morning|evening|afternoon)|moin|hallo)\b.{0,20}$",
        ("Hello.", "What are you turning over: a decision, a plan, a bug, or an idea that needs attacking?"),
        about=False,
    ),
    _rule(
        "decision",
        r"\b(?:let'?s (?:go with|use|do|take|stick (?:with|to)|keep)|(?:we|i)(?:'ll| will| are| am|'re|'m)? ?(?:going"
        r" with|go with|go for|settled? on)|(?:we|i)(?:'ve| have)? (?:decided|agreed|chose|chosen|resolved)"
        r"(?: (?:on|to|for|that|upon))?|it is decided[:,]?|decision:) (?P<choice>[^.?!\n]{3,160})(?![^.!\n]*\?)",
        (
            "That sounds like a decision. `/decide {choice}` records it.",
            "Before you do: what would you have to learn to take it back?",
        ),
        ("Another decision to record: `/decide {choice}`.", "What does it rule out, and who will miss that?"),
        (
            "Decided, it seems: `/decide {choice}` records it.",
            "Who has to know about it, and what is different tomorrow morning?",
        ),
    ),
    _rule(
        "short answer",
        r"^\W*(?P<word>yes|yep|yeah|no|nope|ok|okay|sure|right|exactly|true|correct|agreed|maybe|perhaps|probably"
        r"|not really|i guess(?: so)?|i think so|kind of|it depends)\W*$",
        ("“{word}”, to this: {asked}", "What makes you say so? One thing that you have seen is enough."),
        ("“{word}”, then.", "And what follows from that for what you do next?"),
        ("“{word}” is short.", "Say it as a sentence that could turn out to be wrong: how does it go?"),
        needs="asked",
        about=False,
    ),
    _rule(
        "changed number",
        AMOUNT_SIGN,
        (
            "Earlier it was {before}, now it is {number}.",
            "What makes the difference: something you learned, another case, or something you want?",
        ),
        ("{before} before, {number} now.", "What would the answer be if the earlier one were right after all?"),
        needs="before",
    ),
    _rule(
        "error message",
        r"(?P<error>\b\w+(?:Error|Exception|Panic)\b:? [^\n]{3,120})",
        (
            "The error is “{error}”.",
            "Which line of yours was running, and what did you believe about its input at that moment?",
        ),
        ("Still “{error}”.", "What is the smallest input that brings exactly this, and the nearest one that does not?"),
        (
            "“{error}” is a symptom.",
            "Which two causes would both produce it, and what could you look at that tells them apart?",
        ),
    ),
    _rule(
        "bug",
        r"\b(?:bugs?|errors?|exceptions?|traceback|crash(?:es|ed|ing)?|fail(?:s|ed|ing|ure)?|broken|breaks?|regressions?|flaky"
        r"|hangs?|deadlocks?|leak(?:s|ing)?|time(?:s|d)? ?out|(?:does|do|did)(?: not|n'?t) work|stopped working)\b",
        (
            "Something misbehaves: {quote}.",
            "What did you expect, what did you see instead, and which of the two have you checked with your own eyes?",
        ),
        (
            "So: {quote}.",
            "When did it last work, and what has changed since then: code, data, versions, load, the clock?",
        ),
        ("Noted: {quote}.", "What is the smallest case that still goes wrong, and the largest one that does not?"),
        (
            "Let us stop collecting symptoms. {quote} is one more.",
            "Which two causes would both explain all of them, and which observation would rule one out?",
        ),
        ("{quote}, then.", "What have you ruled out by now, and how do you know that it is out?"),
    ),
    _rule("comparison", rf"\bbetween (?P<left>{_THING}) and (?P<right>{_THING})(?=[.,;:?!]|$)", *_COMPARED),
    _rule(
        "comparison",
        rf"\b(?P<left>{_WORD}) (?:vs\.?|versus|or rather|instead of|rather than) (?P<right>{_WORD})",
        *_COMPARED,
    ),
    _rule(
        "comparison",
        rf"\b(?P<left>{_WORD}) (?:is|are|was|looks?|seems?|feels?|would be) (?:\w+ )?(?:better|faster|cheaper|simpler"
        rf"|easier|safer|nicer|slower|worse|(?:more|less) \w+) than (?P<right>{_WORD})",
        *_COMPARED,
    ),
    _rule(
        "comparison",
        rf"\b(?:use|choose|pick|take|go with|prefer|buy|with|either|write|do) (?P<left>{_THING}) or (?P<right>{_WORD})",
        *_COMPARED,
    ),
    _rule(
        "reason",
        r"(?P<claim>[^.?!\n;:]{4,120}?),? (?:because(?: of)?|due to|given that|as long as) (?P<reason>[^.?!\n]{3,120})",
        ("You rest “{claim}” on “{reason}”.", "How do you know the second: measured, read somewhere, or assumed?"),
        ("“{claim}”, because “{reason}”.", "If that reason fell away tomorrow, would you still want the same thing?"),
        (
            "A reason proves more than one thing. Yours is “{reason}”.",
            "What else would follow from it, and is that true as well?",
        ),
    ),
    _rule(
        "absolute",
        r"\b(?P<word>always|never|everyone|everybody|nobody|no one|impossible|obviously|clearly|of course|certainly"
        r"|definitely|guaranteed)\b",
        (
            "“{word}” leaves no way out: {quote}.",
            "In which case does it not hold, and how often does that case come up?",
        ),
        ("“{word}”, you say: {quote}.", "Who would disagree, and what is the best thing they could say?"),
    ),
    _rule(
        "evidence",
        r"\b(?:i|we)(?:'ve| have)? (?:just )?(?:measured|tested|benchmarked|profiled|counted|checked|observed|saw)\b",
        (
            "You went and looked, and that is worth more than an opinion: {quote}.",
            "What had you expected, and what would you conclude if the same test gave another result tomorrow?",
        ),
        ("More evidence: {quote}.", "Which other explanation does it leave standing, and what would rule that out?"),
    ),
    _rule(
        "amount",
        AMOUNT_SIGN,
        (
            "{number} carries weight here.",
            "Where does it come from: measured, estimated or hoped? And what changes if it is off by a factor of two?",
        ),
        ("Take {number} as given.", "At which value would you decide otherwise?"),
        ("{number} matters here, too.", "Who would notice if it were missed, and what would they do then?"),
    ),
    _rule(
        "obligation",
        r"\b(?:should(?:n'?t)?|must(?:n'?t)?|have to|has to|need to|needs to|ought to)\b",
        ("You {say} {quote}.", "What happens, concretely, if no one does it, and to whom?"),
        ("Again a duty: {quote}.", "Whose requirement is it: a user's, a rule's, or a habit's?"),
        ("You {say} {quote}.", "What would you have to give up for it, and is it worth that?"),
    ),
    _rule(
        "plan",
        r"\b(?:plans?|planning|roadmap|(?:i|we)(?:'m| am|'re| are) going to|want to|would like to|intend to|next step"
        r"|migrat\w+|rewrit\w+|refactor\w*|redesign\w*|launch\w*|roll(?:ing)? ?out|first\b.{3,80}\bthen)\b",
        (
            "A plan, then: {quote}.",
            "What is the cheapest step that could prove it wrong, and can you take that one first?",
        ),
        ("So: {quote}.", "How will you know that it is done, in a sentence that someone else could check?"),
        ("{quote}: that takes time from something else.", "What will you not do, so that this fits?"),
        ("Of all this: {quote}.", "Which step cannot be taken back, and what has to be true before you take it?"),
    ),
    _rule(
        "doubt",
        r"\b(?:not sure|unsure|uncertain|don'?t know|do not know|no idea|maybe|perhaps|i guess|i think|i believe|i feel"
        r"|probably|might|stuck|confus\w+|unclear|worried|afraid)\b",
        (
            "You leave yourself room: {quote}.",
            "What would you need to see to be sure, and how long would it take to look?",
        ),
        ("Still open: {quote}.", "If you had to bet today, which way, and at what odds?"),
        ("{quote}.", "Which part of it are you sure of? Say that part first."),
    ),
    _rule(
        "why",
        r"\bwhy\b[^.!\n]*\?",
        ("You ask {quote}.", "Which three answers can you think of, and against which of them do you have evidence?"),
        ("Once more: why? {quote}", "What would you see if the obvious answer were the right one, and do you see it?"),
    ),
    _rule(
        "how",
        r"\bhow (?:do|can|could|should|would|to|might)\b",
        ("You ask {quote}.", "What have you tried, and at which point exactly did it stop being good enough?"),
        ("{quote}: that is the goal.", "What does the version look like that you could finish today?"),
    ),
    _rule(
        "question",
        r"\?\s*$",
        (
            "Only you can answer that, and you may know more than you think: {quote}",
            "What is your best guess, and what speaks against it?",
        ),
        ("{quote}", "Which fact would answer it at once, and where could you find that fact?"),
        ("{quote}", "What will you do differently depending on the answer? If nothing: is it the right question?"),
    ),
    _rule(
        "people",
        r"\b(?P<who>users|customers|clients|the team|my team|our team|management|stakeholders|developers|people)\b",
        ("“{who}” is a crowd.", "Name one of them: what did that one do or say last week that shows it?"),
        ("Suppose one of “{who}” read this over your shoulder.", "What would they correct first?"),
    ),
    _rule(
        "anything",
        r"",
        (
            "{quote}.",
            "If a reader remembered one sentence of this, which should it be? Say it so that it could be wrong.",
        ),
        ("{quote}.", "What would someone who disagrees say first, and where would they have a point?"),
        ("{quote}.", "What have you seen, with your own eyes, that makes you think so?"),
        ("{quote}.", "It is a year from now and this has gone badly: what went wrong?"),
        ("{quote}.", "What is the smallest thing you could do today to learn whether it holds?"),
    ),
)
