package rt

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/test/sites/rtcompare"
)

// An Account is a login of the seed.
type Account struct{ Name, Password string }

// Staff may do everything with tickets.
func Staff() Account { return Account{"mlindqvist", "Secret-mlindqvist-1"} }

// NoRights is a user like any other whom no queue lets see a ticket.
func NoRights() Account { return Account{"norights", "Secret-norights-1"} }

// A Site is a Request Tracker that rt.sh has started.
type Site struct {
	Base   string // address without a slash at its end
	Script string // path of rt.sh
	Dir    string // SITES_DIR of the script
}

// FromEnv returns the site that the environment names: DRAWBRIDGE_RT_URL, and
// SITES_DIR and PORT as rt.sh takes them. root is the repository's folder.
func FromEnv(root string) (*Site, error) {
	s := &Site{
		Base: strings.TrimSuffix(os.Getenv("DRAWBRIDGE_RT_URL"), "/"), Dir: os.Getenv("SITES_DIR"),
		Script: filepath.Join(root, "test", "sites", "scripts", "rt.sh"),
	}
	if s.Base == "" || s.Dir == "" {
		return nil, fmt.Errorf("DRAWBRIDGE_RT_URL and SITES_DIR have to say where Request Tracker runs; test/scripts/test-sites.sh sets them")
	}
	return s, nil
}

// Truth reads what is in the database now.
func (s *Site) Truth(ctx context.Context) (*rtcompare.Truth, error) {
	data, err := s.RawTruth(ctx)
	if err != nil {
		return nil, err
	}
	return rtcompare.ParseTruth(data, s.Base)
}

// RawTruth is the same as JSON: equal bytes mean that nothing was written.
func (s *Site) RawTruth(ctx context.Context) ([]byte, error) { return s.run(ctx, "truth") }

// Expire ends every login on the server's side.
func (s *Site) Expire(ctx context.Context) error {
	_, err := s.run(ctx, "expire")
	return err
}

func (s *Site) run(ctx context.Context, action string) ([]byte, error) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(ctx, s.Script, action) //nolint:gosec // the repository's own script
	cmd.Env = append(os.Environ(), "SITES_DIR="+s.Dir)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("rt.sh %s: %w: %s", action, err, said.String())
	}
	return out.Bytes(), nil
}

func (s *Site) database() string { return filepath.Join(s.Dir, "rt", "data", "rt.sqlite") }

// Save copies the database to file, while the site runs.
func (s *Site) Save(ctx context.Context, file string) error {
	return s.sqlite(ctx, ".backup '"+file+"'")
}

// Restore brings back what Save has copied, while the site runs.
func (s *Site) Restore(ctx context.Context, file string) error {
	return s.sqlite(ctx, ".timeout 10000", ".restore '"+file+"'")
}

func (s *Site) sqlite(ctx context.Context, commands ...string) error {
	args := append([]string{s.database()}, commands...)
	out, err := exec.CommandContext(ctx, "sqlite3", args...).CombinedOutput() //nolint:gosec // the test's own site
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		return fmt.Errorf("sqlite3 %q: %w: %s", commands, err, out)
	}
	return nil
}
