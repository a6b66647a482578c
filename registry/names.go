package registry

import (
	"regexp"
	"strings"

	"github.com/hashicorp/go-version"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Names become file names and refs, so each has a closed form that is checked
// before any use.
var (
	idPattern      = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,62}$`)
	namePattern    = regexp.MustCompile(`^[a-z][a-z0-9-]{0,40}$`)
	versionPattern = regexp.MustCompile(`^` + number + `\.` + number + `\.` + number + `(-` + label + `(\.` + label + `)*)?$`)
	hashPattern    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// The parts of a version: Semantic Versioning in lower case and without build
// metadata, so that one version has one spelling and every spelling is a file name.
const (
	number = `(0|[1-9][0-9]{0,8})`
	label  = `(0|[1-9][0-9]{0,8}|[0-9]*[a-z][0-9a-z]*)`
)

// maxVersion bounds a version's length, with its suffix.
const maxVersion = 40

func validID(s string) bool      { return idPattern.MatchString(s) }
func validName(s string) bool    { return namePattern.MatchString(s) }
func validHash(s string) bool    { return hashPattern.MatchString(s) }
func validVersion(s string) bool { return len(s) <= maxVersion && versionPattern.MatchString(s) }

// A Ref is what a user asks for: a plugin, in one registry or in any, and which
// versions will do.
type Ref struct {
	Registry   string // the registry's id; empty if the plugin is in only one
	Namespace  string
	Name       string
	Constraint string // such as "1.2.3", "~> 1.2" or ">= 1, < 2"; empty for the newest
	// Channel is what an install follows from now on; empty leaves it as it is.
	// It comes without a constraint.
	Channel Channel
}

// ParseRef reads "[registry:]namespace/name[@constraint|@channel]".
func ParseRef(s string) (Ref, error) {
	r, err := ParseName(s)
	if err == nil && r.Namespace == "" {
		return Ref{}, badName(s, "want NAMESPACE/NAME in lower case")
	}
	return r, err
}

// ParseName is ParseRef that lets the namespace be left out; see [Client.Complete].
func ParseName(s string) (Ref, error) {
	bad := func(why string) (Ref, error) { return Ref{}, badName(s, why) }
	var r Ref
	head, constraint, pinned := strings.Cut(s, "@")
	switch c := Channel(strings.TrimSpace(constraint)); c {
	case Stable, Beta:
		r.Channel = c
	default:
		r.Constraint = string(c)
	}
	if id, rest, ok := strings.Cut(head, ":"); ok {
		if r.Registry, head = id, rest; !validID(id) {
			return bad("the registry's id isn't one")
		}
	}
	var full bool
	if r.Namespace, r.Name, full = strings.Cut(head, "/"); !full {
		r.Namespace, r.Name = "", head
	}
	if full && !validName(r.Namespace) || !validName(r.Name) {
		return bad("want NAMESPACE/NAME in lower case")
	}
	if pinned {
		if _, err := r.constraints(); err != nil {
			return bad("the version isn't a version or a constraint")
		}
	}
	return r, nil
}

func badName(s, why string) error {
	return abi.Errorf(abi.ErrInvalidArgs, "", "plugin %q: %s", s, why).
		WithHint("drawbridge install NAMESPACE/NAME[@VERSION|@CHANNEL]")
}

// Plugin returns "namespace/name".
func (r Ref) Plugin() string { return r.Namespace + "/" + r.Name }

// following is r as the installed version means it: what asks for no version and
// no channel stays on the channel that is followed.
func (r Ref) following(old *Entry) Ref {
	if old != nil && r.Channel == "" && (r.Constraint == "" || r.Constraint == "latest") {
		r.Channel = old.Channel
	}
	return r
}

// constraints parses r.Constraint; nil matches every version.
func (r Ref) constraints() (version.Constraints, error) {
	if len(r.Constraint) > 100 {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "version constraint of %d bytes", len(r.Constraint))
	}
	if r.Constraint == "" || r.Constraint == "latest" {
		return nil, nil
	}
	return version.NewConstraint(r.Constraint)
}

// exact reports whether r asks for exactly v.
func (r Ref) exact(v string) bool { return strings.TrimPrefix(r.Constraint, "=") == v }

// compareVersions orders two valid versions.
func compareVersions(a, b string) int {
	return version.Must(version.NewSemver(a)).Compare(version.Must(version.NewSemver(b)))
}
