package registry

import (
	"bytes"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// knownFile says whether a path is one that a registry has.
func knownFile(path string) bool {
	parts := strings.Split(strings.TrimSuffix(path, ".asc"), "/")
	switch {
	case slices.Contains(topFiles(), path):
		return true
	case len(parts) == 2 && parts[0] == "keys":
		return strings.HasSuffix(path, ".asc") && signing.Fingerprint(parts[1]).Valid()
	case len(parts) == 2 && parts[0] == "root":
		return rootFile.MatchString(parts[1])
	case len(parts) == 2 && parts[0] == "namespaces":
		name, json := strings.CutSuffix(parts[1], ".json")
		return json && validName(name) && !reservedName(name)
	case len(parts) == 4 && parts[0] == "connectors":
		name, json := strings.CutSuffix(parts[3], ".json")
		named := validName(parts[1]) && validName(parts[2]) && !reservedName(parts[1]) && !reservedName(parts[2])
		return json && named && (path == indexPath(parts[1], parts[2]) || validVersion(name))
	}
	return false
}

var rootFile = regexp.MustCompile(`^[1-9][0-9]{0,3}\.json$`)

// files looks at the names of what there is, and at what was taken away. A release
// that was proposed and that no index lists may go.
func (c *checker) files() {
	for _, path := range slices.Sorted(maps.Keys(c.head.files)) {
		if !knownFile(path) {
			c.refuse(path, coded(codeUnknown, "%q is no file of a registry", path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.base.files)) {
		_, there := c.head.files[path]
		free := slices.Contains(topFiles(), path) || !knownFile(path) || c.onlyProposed(strings.TrimSuffix(path, ".asc"))
		if !there && !free {
			c.refuse(path, coded(codeHistory, "%q was there before, and is gone", path))
		}
	}
}

// onlyProposed reports whether a path of the base is that of a release that no index
// lists. What can't be read may list anything.
func (c *checker) onlyProposed(path string) bool {
	if !isRelease(path) || lists(c.wasIndex, path) {
		return false
	}
	parts := strings.Split(path, "/")
	_, listed := c.was.snapshot.Files[indexPath(parts[1], parts[2])]
	_, read := c.wasIndex[parts[1]+"/"+parts[2]]
	return read || !listed
}

// sealed holds the files to the new snapshot, both ways: what stands beside it would
// be vouched for by the one after it, and no maintainer signs that.
func (c *checker) sealed() {
	for _, path := range slices.Sorted(maps.Keys(c.head.files)) {
		if _, listed := c.is.snapshot.Files[path]; inSnapshot(path) && !listed {
			c.refuse(path, coded(codeUnsigned, "%q isn't in the snapshot that it stands beside", path))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(c.is.snapshot.Files)) {
		if !inSnapshot(path) || !knownFile(path) {
			c.refuse(path, coded(codeUnknown, "snapshot version %d lists %q, for which none vouches", c.is.snapshot.Version, path))
		} else if _, err := c.is.read(path); err != nil {
			c.refuse(path, err)
		}
	}
}

// certificates looks at those that are new or others than in the base. A revocation
// by the key's own owner can't be taken back by an older copy.
func (c *checker) certificates() {
	for _, path := range slices.Sorted(maps.Keys(c.head.files)) {
		name, isKey := strings.CutPrefix(path, "keys/")
		if !isKey || c.same(path) && !c.whole || !knownFile(path) {
			continue
		}
		fpr := signing.Fingerprint(strings.TrimSuffix(name, ".asc"))
		is, err := certificateAt(c.head, path, fpr)
		if err != nil {
			c.refuse(path, refuseFor(err, abi.ReasonMalformed, []signing.Fingerprint{fpr}, "%q isn't the certificate of that key: %v", path, err))
			continue
		}
		if was, err := certificateAt(c.base, path, fpr); err == nil && !is.KeepsRevocationsOf(was) {
			c.refuse(path, refuse(abi.ReasonKeyRevoked, []signing.Fingerprint{fpr}, "certificate %s was revoked, and this copy of it lacks the revocation", fpr))
		}
	}
}

func certificateAt(t *tree, path string, fpr signing.Fingerprint) (signing.Certificate, error) {
	data, err := t.ReadFile(path)
	if err != nil {
		return signing.Certificate{}, err
	}
	return signing.ReadCertificate(data, fpr)
}

// unsignedChanges refuses whatever differs beside an unchanged snapshot, but for
// files that no snapshot vouches for: new releases, and what is there for people.
func (c *checker) unsignedChanges() {
	for _, path := range slices.Sorted(maps.Keys(c.head.files)) {
		old, err := c.was.files.ReadFile(path)
		added := isMissing(err)
		if added && strings.HasPrefix(path, "connectors/") && !strings.HasSuffix(path, "/index.json") {
			continue // releases looks at it
		}
		if strings.HasSuffix(path, ".md") || path == "LICENSE" {
			continue
		}
		now, nowErr := c.head.ReadFile(path)
		if err = errors.Join(nowErr, notMissing(err)); err != nil {
			c.refuse(path, err)
		} else if added || !bytes.Equal(old, now) {
			c.refuse(path, coded(codeUnsigned, "%q changes beside a snapshot that doesn't", path))
		}
	}
}

func notMissing(err error) error {
	if isMissing(err) {
		return nil
	}
	return err
}
