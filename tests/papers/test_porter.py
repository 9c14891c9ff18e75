"""Porter's stemmer: the examples of his paper, step by step."""

import pytest

from papers.porter import measure, stem, words

EXAMPLES = """
caresses caress ponies poni ties ti cats cat feed feed agreed agre plastered plaster bled bled
motoring motor sing sing conflated conflat troubled troubl sized size hopping hop tanned tan
falling fall hissing hiss fizzed fizz failing fail filing file happy happi sky sky
relational relat conditional condit rational ration valenci valenc hesitanci hesit digitizer digit
conformabli conform radicalli radic differentli differ vileli vile analogousli analog
vietnamization vietnam predication predic operator oper feudalism feudal decisiveness decis
hopefulness hope callousness callous formaliti formal sensitiviti sensit sensibiliti sensibl
triplicate triplic formative form formalize formal electriciti electr electrical electr hopeful hope
goodness good revival reviv allowance allow inference infer airliner airlin gyroscopic gyroscop
adjustable adjust defensible defens irritant irrit replacement replac adjustment adjust
dependent depend adoption adopt homologou homolog communism commun activate activ
angulariti angular homologous homolog effective effect bowdlerize bowdler probate probat rate rate
cease ceas controll control roll roll at at a a
""".split()


@pytest.mark.parametrize(
    ("word", "expected"), list(zip(EXAMPLES[::2], EXAMPLES[1::2], strict=True))
)
def test_stem(word, expected):
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("m", "examples"),
    [
        (0, "tr ee tree y by"),
        (1, "trouble oats trees ivy"),
        (2, "troubles private oaten orrery"),
    ],
)
def test_measure(m, examples):
    assert {measure(word) for word in examples.split()} == {m}


def test_words_are_letters_without_stop_words():
    assert words("The KERNELS, of 17 oscillators!") == ["kernel", "oscil"]
    assert words("") == []
