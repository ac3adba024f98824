"""Words of code after an @ sign (@Component, @param, @lru_cache): a name made of them alone is no person's handle."""

from __future__ import annotations

import re

_LANGUAGES = """
abstract abstractmethod after alias all alpha and android any arg args argument arguments array assembly assert async
asynccontextmanager asyncio atexit attrib attribute attributes augments author auto autowired await base bean before
begin beta bind binding body bool boolean bound break by cache cached call callback case cast catch char charset check
class classes classmethod click code column component config configurable configuration const constant constructor
container context contextlib contextmanager continue controller converter coroutine count create created css data
dataclass dataclasses debug decorator decorators def default defer define delete deleter deprecated desc description
directive do doc docs each echo else email emit end endif entity enum enumerable env err error errors event events
example except exception exclude expect experimental export exports expr expression extend extends external factory
fallback false field fields file filename filter final finally fixture flag float flow fn font for foreach form format
from frozen func function functions functools generated generic get getter global group handler has header headers
helper hidden hook host href html http https id identifier identity ids if ignore ignored immutable implementation
implements import in include index info inherit inheritdoc inherits init inject injectable input inputs instance int
integer interface internal item items iter jax jit js json jsx key keydown keyframes keypress keys keyup kind label last
latest layer layout lazy lib library license like line link list listener live load local lock log login long lookup
loop lru macro main map mapping mark markup master matcher max member memberof memo menu message meta metadata method
min missing mixin mock mode model module move mutation name named namespace native nested new next nextlink no node none
not null number obj objc object odata of off on onchange onclick oninput onkeypress onload onsubmit open operation
operator option optional options or order origin output overload override package page pages param parameter
parameterized parameters params parse parser part pass patch path pattern plugin pointer post prefix preset primary
private process profile prop properties property props protected protocol provider proxy public purge put pytest query
raise raises random range raw read readonly record ref reference reflect register release reload rem remarks remove
render replace repository request require required requires resolve resource response rest restrict result retry return
returns role root route router row rule run runtime safe save schema scope script sealed search section see select
selector self sender server service session set setter setup shared signature simple since size skip slot slow snapshot
something source spec sql src start state static staticmethod status step stop storage store strict string struct style
sub submit suite summary super supports suppress switch symbol synchronized synthesize system tab table tag tags
tailwind target task template test text tf tff theme then this throw throws time timeout title to todo token tool top
trace track transactional transform transient trigger true try ts type typedef typeparam types typing undefined unique
unit unittest unless unsafe up update url use user username using util utils val valid validate validator value values
var variable variables version view viewbag viewdata virtual void volatile warning watch web when where while width
wildcard window with work wrap wrapper wraps write xml yield yields
"""
_FIELDS = """
account action active address admin advanced age alternate amount app appear apply area article attrs audio autopk
autostart average backup bar batch birthday blank block book box budget button cal calc calendar cancel category
channel chart city clicks client clone closed cmd cod color comment company complaints compound computation copy cost
country currency customer date datetime day days delay delivery department detail details device digg dir disabled
display distance document domain double download draft duration edit employee enabled enter entry exit expired
external fabrikam facebook failed fastapi fax feature federated female files first fiscal folder footer forward gender
google help history hour icon image inbox index installation integrity interval invoice job jobid keyword lang
language lastname leave left length level linkedin location mail male manager media mention mentioned mentioning
mentions microsoft mobile month mru naver notify onmicrosoft opened opens opt order outparameter owner parent password
payment pending percent period person phone pic place places plan player point policy port position posted preferred
prepared price print priority processed processor prod product program project province purchase quantity queue quote
rank rate reactivity reactjs refused region registername reject remote remotely reply report respfile responsefile
right room rowcount rows salutation score screen second security sent serial shop short site social sort sources
specific sport sports sqlname sqltable stage stamp station street subject subscriber subscription success sum support
tagging team teamname tel temp term text thread ticket total totalclicks transaction transactions trial twitter
unreachable unsubscription upload usage vendor video visitor visitors volume website week weight word year zip zone
"""
_MODULES = """
abc api app args asyncio atexit attr blueprint bp celery click cls context contextlib dataclasses django flask
functools hydra jax mock model nn np numba odata parameterized pd pytest ray router self server sqlalchemy tf tff this
torch typer typing unittest user x
"""
FIELD_WORDS = frozenset(_FIELDS.split())
CODE_WORDS = FIELD_WORDS | frozenset(_LANGUAGES.split())
MODULES = frozenset(_MODULES.split())
"""First names of decorators and members with dots (@app.route, @tf.function)."""
ACCESSORS = frozenset(("deleter", "getter", "setter", "txt"))

_GAP = re.compile("No(?:__)?t_[0-9]+")
_PIECES = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_code_name(name: str) -> bool:
    """Return whether all words of a name (lru_cache, StartDate, User.Identity.Name) are words of code.

    Names that end in a digit are people's (user01), but for the numbered gaps that machine translation leaves.
    """
    return _consists_of(name, CODE_WORDS)


def is_field_name(name: str) -> bool:
    """Return whether all words of a name are such as columns and forms have (facebook, account, CompanyName)."""
    return _consists_of(name, FIELD_WORDS)


def _consists_of(name: str, words: frozenset[str]) -> bool:
    if name[-1].isdigit() and not _GAP.fullmatch(name):
        return False
    pieces = [piece.lower() for piece in _PIECES.findall(name)]
    return bool(pieces) and all(piece in words or len(piece) == 1 for piece in pieces)
