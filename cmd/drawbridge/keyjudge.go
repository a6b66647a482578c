package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A judgedFile is one of the files that key verify was given.
type judgedFile struct {
	what, path string
	text       []byte
}

func (f judgedFile) kind() signing.Kind { return signing.LooksLike(f.text) }

// A judging is what key verify was given. Which of the files is at fault is told
// beside the verdict, and changes nothing of it.
type judging struct {
	file, signature judgedFile
	keyrings        []judgedFile
}

// judge puts everybody in the keyrings into trust and verifies.
func (j judging) judge(trust *signing.Trust) (signing.Verdict, error) {
	for _, k := range j.keyrings {
		ring, err := signing.ReadRing(k.text)
		if err != nil {
			return signing.Verdict{}, j.atFault(k, signing.KindCertificate, err)
		}
		trust.Certificates = append(trust.Certificates, ring.Raw...)
		trust.Fingerprints = append(trust.Fingerprints, ring.Fingerprints()...)
	}
	v, err := signing.Verify(j.file.text, j.signature.text, *trust)
	if err == nil {
		return v, nil
	}
	return v, j.blame(err, len(trust.Fingerprints) > 0)
}

// blame finds the file that a refusal is about, if it is about one alone.
func (j judging) blame(err error, anybody bool) error {
	if signing.CheckSignatureFile(j.signature.text) != nil {
		return j.atFault(j.signature, signing.KindSignature, err)
	}
	if len(j.file.text) > signing.MaxData {
		return inFile(j.file.what, j.file.path, err)
	}
	i := slices.IndexFunc(j.keyrings, func(k judgedFile) bool { return k.kind() != signing.KindCertificate })
	if !anybody && i >= 0 {
		return j.atFault(j.keyrings[i], signing.KindCertificate, err)
	}
	return err
}

// atFault is a refusal of one file: what it is in place of what it ought to be, or
// what the reader of it said.
func (j judging) atFault(f judgedFile, want signing.Kind, err error) error {
	e, ok := errors.AsType[*abi.Error](inFile(f.what, f.path, err))
	if !ok {
		return err
	}
	kind := f.kind()
	if kind != want && signing.DetailOf(err) != signing.DetailTooLarge {
		e.Msg = fmt.Sprintf("%s %q: it is %s", f.what, f.path, kind)
	}
	if hint := j.inOrder(); hint != "" {
		return e.WithHint("%s", hint)
	}
	switch {
	case want == signing.KindCertificate && signing.IsSecretKey(f.text):
		e.Msg = fmt.Sprintf("%s %q: it is a secret key, and a keyring holds certificates", f.what, f.path)
		return e.WithHint("%s", certificateOf(f.path))
	case want == signing.KindSignature && (kind == signing.KindClearsigned || kind == signing.KindMessage):
		return e.WithHint("gpg --armor --detach-sign %s", platform.ShellQuote(j.file.path))
	}
	return e
}

// certificateOf says how to give the certificate of a secret key in its place.
func certificateOf(path string) string {
	cert := certificateBeside(path)
	if info, err := os.Stat(cert); err == nil && info.Mode().IsRegular() && cert != path {
		return "--keyring " + platform.ShellQuote(cert)
	}
	cert = platform.ShellQuote(path + ".asc")
	return fmt.Sprintf("drawbridge key show %s > %s, and --keyring %s", platform.ShellQuote(path), cert, cert)
}

// inOrder is the command line with the files where they belong, if they look as if
// they stand in each other's place; empty if not.
func (j judging) inOrder() string {
	if len(j.keyrings) != 1 {
		return ""
	}
	given := []judgedFile{j.keyrings[0], j.signature, j.file}
	find := func(k signing.Kind) int {
		return slices.IndexFunc(given, func(f judgedFile) bool { return f.kind() == k })
	}
	ring, sig := find(signing.KindCertificate), find(signing.KindSignature)
	if ring < 0 || sig < 0 || ring == 0 && sig == 1 {
		return ""
	}
	file := given[3-ring-sig]
	if kind := file.kind(); kind == signing.KindCertificate || kind == signing.KindSignature {
		return "" // two of one kind: which is meant isn't known
	}
	return fmt.Sprintf("drawbridge key verify --keyring %s --signature %s %s",
		platform.ShellQuote(given[ring].path), platform.ShellQuote(given[sig].path), platform.ShellQuote(file.path))
}
