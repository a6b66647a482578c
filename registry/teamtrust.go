package registry

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

const typeTeams = "drawbridge-teams"

// A Team is the key that a person pinned for the lock files of one name, and the
// newest of them that was seen.
type Team struct {
	Name        string              `json:"name"`
	Signer      signing.Fingerprint `json:"signer"`
	Certificate string              `json:"certificate"` // armored; the signer's
	Trusted     Time                `json:"trusted"`     // when a person said so
	Version     int64               `json:"version"`     // 0 before the first
	SHA256      string              `json:"sha256,omitempty"`
}

// A FormerTeam is one that isn't followed any more, and the newest of its lock files
// that was seen: if it is trusted again, versions go on from there.
type FormerTeam struct {
	Name       string              `json:"name"`
	Signer     signing.Fingerprint `json:"signer"`
	Version    int64               `json:"version"`
	SHA256     string              `json:"sha256,omitempty"`
	Distrusted Time                `json:"distrusted"`
}

// maxFormerTeams is how many teams are remembered that aren't followed any more.
const maxFormerTeams = 100

// teams is the file that keeps them.
type teams struct {
	Type       string       `json:"type"`
	Format     int          `json:"format"`
	Teams      []Team       `json:"teams"`                // sorted by name
	Distrusted []FormerTeam `json:"distrusted,omitempty"` // likewise
}

func (t *teams) check() error {
	if t.Type != typeTeams || t.Format != Format || t.Teams == nil {
		return fmt.Errorf("type %q and format %d, want %q and %d", t.Type, t.Format, typeTeams, Format)
	}
	for i, m := range t.Teams {
		if err := checkSeen(m.Name, m.Signer, m.Version, m.SHA256); err != nil {
			return err
		}
		if i > 0 && t.Teams[i-1].Name >= m.Name {
			return errors.New("teams that aren't sorted and different")
		}
	}
	for i, m := range t.Distrusted {
		if err := checkSeen(m.Name, m.Signer, m.Version, m.SHA256); err != nil {
			return err
		}
		if i > 0 && t.Distrusted[i-1].Name >= m.Name {
			return errors.New("former teams that aren't sorted and different")
		}
	}
	return nil
}

func checkSeen(name string, signer signing.Fingerprint, version int64, hash string) error {
	if !validID(name) || !signer.Valid() || version < 0 || (version == 0) != (hash == "") || hash != "" && !validHash(hash) {
		return fmt.Errorf("team %q with key %q and version %d", name, signer, version)
	}
	return nil
}

func (t *teams) sort() {
	slices.SortFunc(t.Teams, func(a, b Team) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Distrusted, func(a, b FormerTeam) int { return strings.Compare(a.Name, b.Name) })
}

// former takes what is remembered of a team out; the zero value if nothing is.
func (t *teams) former(name string) (was FormerTeam) {
	t.Distrusted = slices.DeleteFunc(t.Distrusted, func(m FormerTeam) bool {
		if m.Name != name {
			return false
		}
		was = m
		return true
	})
	return was
}

func (t *teams) find(name string) *Team {
	i := slices.IndexFunc(t.Teams, func(m Team) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Teams[i]
}

func (c *Client) teamsPath() string { return filepath.Join(c.cfg.Dir, "teams.json") }

func (c *Client) readTeams() (*teams, error) {
	var t teams
	err := readOwn(c.teamsPath(), &t, maxOwnFile)
	switch {
	case err == nil:
		return &t, nil
	case isMissing(err):
		return &teams{Type: typeTeams, Format: Format, Teams: []Team{}}, nil
	}
	return nil, fmt.Errorf("reading the trusted teams: %w", err)
}

func (c *Client) writeTeams(t *teams) error {
	if err := writeOwn(c.teamsPath(), t, maxOwnFile); err != nil {
		return fmt.Errorf("writing the trusted teams: %w", err)
	}
	return nil
}

// Teams lists whose lock files are followed, sorted by name.
func (c *Client) Teams() ([]Team, error) {
	t, err := c.readTeams()
	if err != nil {
		return nil, err
	}
	return t.Teams, nil
}

// TrustTeam pins the key that signs the lock files of a name, in place of the one
// that was pinned before; versions go on from where they were, also if trust has
// ended in between. The caller has asked a person.
func (c *Client) TrustTeam(name string, signer signing.Certificate) error {
	if !validID(name) {
		return abi.Errorf(abi.ErrInvalidArgs, "sync", "team %q, want lower-case letters, digits, dots and dashes", name)
	}
	return c.exclusive(func() error {
		t, err := c.readTeams()
		if err != nil {
			return err
		}
		if old := t.find(name); old != nil {
			old.Signer, old.Certificate, old.Trusted = signer.Fingerprint, string(signer.Armored()), At(c.cfg.Clock())
			return c.writeTeams(t)
		}
		was := t.former(name)
		t.Teams = append(t.Teams, Team{name, signer.Fingerprint, string(signer.Armored()), At(c.cfg.Clock()), was.Version, was.SHA256})
		t.sort()
		return c.writeTeams(t)
	})
}

// DistrustTeam follows the lock files of a name no longer. What they installed
// stays, and which version was the newest is remembered until [Client.ForgetTeam].
func (c *Client) DistrustTeam(name string) error {
	return c.exclusive(func() error {
		t, err := c.readTeams()
		if err != nil {
			return err
		}
		m := t.find(name)
		if m == nil {
			return noTeam(name)
		}
		if len(t.Distrusted) >= maxFormerTeams {
			return abi.Errorf(abi.ErrLimitExceeded, "sync", "%d teams are remembered that aren't followed any more, and no more fit", len(t.Distrusted)).
				WithHint("drawbridge sync list --removed, then drawbridge sync distrust NAME --forget for one that nobody needs, or %s itself", name)
		}
		t.Distrusted = append(t.Distrusted, FormerTeam{name, m.Signer, m.Version, m.SHA256, At(c.cfg.Clock())})
		t.Teams = slices.DeleteFunc(t.Teams, func(m Team) bool { return m.Name == name })
		t.sort()
		return c.writeTeams(t)
	})
}

// FormerTeams lists the teams that aren't followed any more, sorted by name.
func (c *Client) FormerTeams() ([]FormerTeam, error) {
	t, err := c.readTeams()
	if err != nil {
		return nil, err
	}
	return t.Distrusted, nil
}

// ForgetTeam ends the trust in a team, if there is any, and forgets which of its
// lock files was the newest: an older one counts if it is trusted again. The caller
// has asked a person.
func (c *Client) ForgetTeam(name string) error {
	return c.exclusive(func() error {
		t, err := c.readTeams()
		if err != nil {
			return err
		}
		if t.find(name) == nil && t.former(name).Name == "" {
			return noTeam(name)
		}
		t.former(name)
		t.Teams = slices.DeleteFunc(t.Teams, func(m Team) bool { return m.Name == name })
		return c.writeTeams(t)
	})
}

func noTeam(name string) *abi.Error {
	return abi.Errorf(abi.ErrNotFound, "sync", "no key is trusted for the lock files of %q", name).
		WithHint("drawbridge sync list")
}

// VerifyTeamLock reads a lock file that the key pinned for its name has signed,
// and that isn't older than the newest one seen. It writes nothing.
func (c *Client) VerifyTeamLock(data, signature []byte) (*TeamLock, Team, error) {
	l, err := ParseTeamLock(data)
	if err != nil {
		return nil, Team{}, err
	}
	t, err := c.readTeams()
	if err != nil {
		return nil, Team{}, err
	}
	team := t.find(l.Name)
	if team == nil {
		return nil, Team{}, refuse(abi.ReasonUnknownKey, nil, "nobody on this machine has said whose lock files of %q it follows", l.Name).
			WithHint("drawbridge sync trust %s CERTIFICATE FINGERPRINT, at a terminal", l.Name)
	}
	if err := team.judge(c, data, signature); err != nil {
		return nil, Team{}, err
	}
	if err := team.admits(l, hashOf(data)); err != nil {
		return nil, Team{}, err
	}
	if l.Issued.After(c.cfg.Clock().Add(maxIssueSkew)) {
		return nil, Team{}, refuse(abi.ReasonMalformed, []signing.Fingerprint{team.Signer},
			"version %d of the lock file %q is issued in the future, %s", l.Version, l.Name, l.Issued)
	}
	return l, *team, nil
}

// judge verifies the signature of a lock file.
func (t *Team) judge(c *Client, data, signature []byte) error {
	keys := []signing.Fingerprint{t.Signer}
	if len(signature) == 0 {
		return refuse(abi.ReasonUnsigned, keys, "the lock file %q isn't signed", t.Name)
	}
	cert, err := signing.ReadCertificate([]byte(t.Certificate), t.Signer)
	if err != nil {
		return err
	}
	_, err = signing.Verify(data, signature, signing.Trust{
		Certificates: cert.Raw, Fingerprints: keys, Threshold: 1, Mode: signing.Install, Now: c.cfg.Clock(),
	})
	if err != nil {
		return because(err, "the lock file of "+t.Name, keys)
	}
	return nil
}

// admits compares a lock file with the newest one seen.
func (t *Team) admits(l *TeamLock, hash string) error {
	keys := []signing.Fingerprint{t.Signer}
	switch {
	case l.Version < t.Version:
		return refuse(abi.ReasonSnapshotOlder, keys, "version %d of the lock file %q, version %d was seen", l.Version, l.Name, t.Version)
	case l.Version == t.Version && hash != t.SHA256:
		return refuse(abi.ReasonTampered, keys, "version %d of the lock file %q has two contents", l.Version, l.Name)
	}
	return nil
}

// AcceptTeamLock verifies a lock file and remembers that it was seen, before what
// it says is done, so that no older one counts from then on.
func (c *Client) AcceptTeamLock(data, signature []byte) (*TeamLock, Team, error) {
	var l *TeamLock
	var team Team
	err := c.exclusive(func() (err error) {
		if l, team, err = c.VerifyTeamLock(data, signature); err != nil {
			return err
		}
		t, err := c.readTeams()
		if err != nil {
			return err
		}
		known := t.find(l.Name)
		known.Version, known.SHA256 = l.Version, hashOf(data)
		return c.writeTeams(t)
	})
	return l, team, err
}
