package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Subject is one call as it would run: what the person is shown, and what an
// approval is bound to. Every field is part of the digest.
type Subject struct {
	Principal    Principal
	Client       string          // what the client calls itself
	Connector    string          // its id, such as "tracker"
	Tool         string          // dotted, such as "tracker.add_comment"
	Title        string          // one line, for people
	Definition   []byte          // the tool as it stands in the signed release, canonical JSON
	ModuleSHA256 string          // 64 hex digits
	Release      string          // "namespace/name@version"
	Args         json.RawMessage // an object; made canonical here
	Origin       string          // where it would act, such as "https://tracker.example"
	Account      string          // who is signed in there; empty if not known
	Destructive  bool
	Writes       []string // in plain words, what goes out
}

// A Digest names a subject: "sha256:" and 64 hex digits.
type Digest string

// domain separates the digest from every other hash that we make. It changes
// with the preimage.
const domain = "drawbridge approval v1\n"

// DigestOf returns the digest of s. It fails with invalid_args if the arguments
// have no exact canonical form (see [Canonical]).
func DigestOf(s Subject) (Digest, error) {
	args, err := Canonical(s.Args)
	if err != nil {
		return "", err
	}
	s.Args = args
	return s.digest(), nil
}

// digest is the digest of a subject whose arguments are canonical.
func (s Subject) digest() Digest {
	sum := sha256.Sum256(s.preimage())
	return Digest("sha256:" + hex.EncodeToString(sum[:]))
}

// preimage lists the fields, each as "name length:value\n", so that no value
// can pass for the end of itself and the beginning of the next.
func (s Subject) preimage() []byte {
	var b bytes.Buffer
	b.WriteString(domain)
	field := func(name, value string) {
		b.WriteString(name + " " + strconv.Itoa(len(value)) + ":" + value + "\n")
	}
	field("principal.id", s.Principal.ID)
	field("principal.name", s.Principal.Name)
	field("client", s.Client)
	field("connector", s.Connector)
	field("tool", s.Tool)
	field("title", s.Title)
	field("definition", string(s.Definition))
	field("module_sha256", s.ModuleSHA256)
	field("release", s.Release)
	field("args", string(s.Args))
	field("origin", s.Origin)
	field("account", s.Account)
	field("destructive", strconv.FormatBool(s.Destructive))
	field("writes", strconv.Itoa(len(s.Writes)))
	for _, w := range s.Writes {
		field("write", w)
	}
	return b.Bytes()
}

// clone returns a copy that shares nothing with s.
func (s Subject) clone() Subject {
	s.Definition = bytes.Clone(s.Definition)
	s.Args = bytes.Clone(s.Args)
	s.Writes = slices.Clone(s.Writes)
	return s
}

// check refuses a subject that the host left incomplete. An approval of it
// would not say what it is for.
func (s Subject) check() error {
	missing := ""
	switch {
	case s.Principal.ID == "":
		missing = "principal"
	case s.Connector == "":
		missing = "connector"
	case s.Tool == "":
		missing = "tool"
	case len(s.Definition) == 0:
		missing = "definition"
	case s.ModuleSHA256 == "":
		missing = "module hash"
	case s.Release == "":
		missing = "release"
	}
	if missing != "" {
		return abi.Errorf(abi.ErrInternal, "", "the call to judge has no %s", missing)
	}
	if !s.Destructive && len(s.Writes) > 0 {
		return abi.Errorf(abi.ErrInternal, "", "%q writes, and is not marked destructive", s.Tool)
	}
	return nil
}
