package registry

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A CheckReport is what a check found. It is the JSON of the command.
type CheckReport struct {
	Verdict  string              `json:"verdict"` // "accept" or "reject"
	Registry string              `json:"registry,omitempty"`
	Commit   string              `json:"commit,omitempty"` // what was checked
	Base     string              `json:"base,omitempty"`   // against which commit
	Snapshot int64               `json:"snapshot,omitempty"`
	Expires  *time.Time          `json:"expires,omitempty"`
	Pinned   signing.Fingerprint `json:"pinned,omitempty"`
	Problems []CheckProblem      `json:"problems"`
	Notices  []CheckProblem      `json:"notices"` // worth a look, and no reason to refuse
	Changes  []Change            `json:"changes"` // that a new snapshot makes
	Proposed []ProposedRelease   `json:"proposed"`
	Growth   []Growth            `json:"growth"`
}

// A CheckProblem is one reason to refuse.
type CheckProblem struct {
	Path    string `json:"path,omitempty"`
	Code    string `json:"code"` // a reason of abi, or an error code
	Message string `json:"message"`
}

// A ProposedRelease is a release that no index lists yet.
type ProposedRelease struct {
	Plugin  string              `json:"plugin"`
	Version string              `json:"version"`
	Signer  signing.Fingerprint `json:"signer,omitempty"`
	Module  string              `json:"module,omitempty"` // sha256
	Path    string              `json:"path"`
}

// A Growth is what a new version may do that the one before, which users of its
// channel have, may not.
type Growth struct {
	Plugin  string   `json:"plugin"`
	From    string   `json:"from,omitempty"` // version; empty for the first one of its channel
	To      string   `json:"to"`
	Added   []string `json:"added"`   // sentences
	Removed []string `json:"removed"` // what it may not do any more
	Told    []string `json:"told"`    // what models or people are told otherwise
}

// The verdicts.
const (
	VerdictAccepted = "accept"
	VerdictRefused  = "reject"
)

// maxProblems bounds a report.
const maxProblems = 500

// refuse notes a problem.
func (c *checker) refuse(path string, err error) {
	if err == nil || len(c.report.Problems) >= maxProblems {
		return
	}
	if p := problemOf(path, err); !slices.Contains(c.report.Problems, p) {
		c.report.Problems = append(c.report.Problems, p)
	}
}

func (c *checker) notice(path, code, format string, args ...any) {
	if len(c.report.Notices) < maxProblems {
		c.report.Notices = append(c.report.Notices, CheckProblem{path, code, fmt.Sprintf(format, args...)})
	}
}

// codeWord is what a code is made of.
var codeWord = regexp.MustCompile(`^[a-z_]+$`)

func problemOf(path string, err error) CheckProblem {
	p := CheckProblem{Path: path, Code: string(abi.ErrInternal), Message: err.Error()}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		if p.Code = string(e.Code); e.Reason != "" {
			p.Code = string(e.Reason)
		}
	}
	if e, ok := errors.AsType[codedError](err); ok && codeWord.MatchString(e.code) {
		p.Code = e.code
	}
	return p
}

// A codedError is a problem that only a check knows.
type codedError struct{ code, msg string }

func (e codedError) Error() string { return e.msg }

// Codes of problems that clients don't have.
const (
	codeName      = "confusable_name"
	codeHistory   = "published_changed" // something that was published is changed or gone
	codeUnknown   = "unknown_file"
	codeUnsigned  = "changed_without_snapshot"
	codeNotHigher = "version_not_higher"
	codeModule    = "module_missing"
	codeChain     = "chain_broken"
	codeDate      = "publish_date"
	codeWaiting   = "waiting"  // a proposal that somebody merged and nobody has accepted
	codeConflict  = "conflict" // with what came into the base meanwhile
)

func coded(code, format string, args ...any) error {
	return codedError{code, fmt.Sprintf(format, args...)}
}
