// Package strictjson is the one decoder for JSON that decides anything:
// manifests, releases, registry metadata, tool arguments, host-call steps and
// what a connector returns.
//
// encoding/json matches keys without regard to case and lets the last of two
// equal keys win, so that one reader of {"destructive":true,"DESTRUCTIVE":false}
// sees true and the next one false. Here a document means one thing or is
// refused. Decode refuses
//
//   - keys that occur twice (compared after unescaping), that the destination
//     does not have, or that equal one of its keys only after case or Unicode
//     folding (K and the Kelvin sign, s and the long s);
//   - bytes that are not UTF-8, a byte order mark, escapes of half a surrogate
//     pair, and anything after the value;
//   - numbers that are no integer literal, or beyond ±(2^53-1), where the
//     destination is an integer, because a JSON number is a double to half of
//     its readers and to the canonical form (RFC 8785);
//   - null where the destination could not hold it, so that null is never a
//     second way to write false;
//   - documents that are larger or deeper than a limit;
//   - control and bidirectional formatting characters in strings, unless AnyText
//     says that the strings are data.
//
// Every refusal is an *Error with a Reason, a path such as
// $.connectors[0].tools[1] and the value at fault. A caller that answers a user
// wraps it into the abi.Error that fits its boundary (invalid_args,
// invalid_result, or untrusted with the reason malformed).
//
// # Text from pages
//
// What a page shows may hold any character that a string can hold: NUL,
// noncharacters, U+2028, overrides of the writing direction. With AnyText none
// of them makes a call fail. The one thing that JSON can spell and a string in Go
// cannot hold is half a surrogate pair; where text comes out of a page, pass the
// bytes through ReplaceLoneSurrogates first. It is a step of its own, so that no
// metadata gets it by accident.
//
// Read decode.go first, then walk.go.
package strictjson
