// Package redact removes secrets from what leaves the host: results, logs, the
// audit log and recordings.
//
// Three things are removed, in this order of certainty. A secret that the host
// knows, because it typed or issued it, is found exactly, in whatever mixture
// of URL, JSON, HTML, quoted-printable, base64 and hex escapes it appears. A
// value that stands under a telling name, such as sectok or password, is
// removed for the name's sake. A string of a well-known shape, such as a GitHub
// token or a PEM private key, is removed for its shape. The last two are help,
// not a promise: nothing recognises a password by its looks.
//
// The package also makes text safe to show on a terminal: see [Visible].
//
// Start with [Redactor] in redact.go; known.go finds known secrets with the help
// of decode.go, names.go and rules.go find the others.
package redact
