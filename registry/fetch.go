package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// fetchModule brings the module of a verified release: by its ref, by the tag of
// the same name where a forge refuses other refs, or by the https URL in the
// release. What arrives has to be the bytes that the release names.
func (c *Client) fetchModule(ctx context.Context, cat *catalog, v *verified) ([]byte, error) {
	if c.cfg.Events.Downloading != nil {
		c.cfg.Events.Downloading(v.Namespace+"/"+v.Name, v.Version, v.Module.Size)
	}
	from, err := c.source(ctx, cat.state)
	if err != nil {
		return nil, err
	}
	var wasm []byte
	err = c.scratch(func(dir string) error {
		wasm, err = fetchArtifact(ctx, dir, from, v.Module)
		return err
	})
	if noSuchRef(err) {
		wasm, err = c.fetchURL(ctx, v)
	}
	var e *abi.Error
	if errors.As(err, &e) && e.Code == abi.ErrUntrusted {
		return nil, refuseFor(err, e.Reason, []signing.Fingerprint{v.signer.Primary}, "%s", e.Msg)
	}
	if err != nil {
		return nil, err
	}
	if int64(len(wasm)) != v.Module.Size || hashOf(wasm) != v.Module.SHA256 {
		return nil, refuse(abi.ReasonTampered, []signing.Fingerprint{v.signer.Primary},
			"the module of %q version %q isn't the one that the release names", v.Name, v.Version)
	}
	return wasm, nil
}

// fetchArtifact fetches one module into a repository of its own, so that nothing
// of what came along stays. The error satisfies noSuchRef if it isn't there.
func fetchArtifact(ctx context.Context, dir string, from address, m abi.Module) ([]byte, error) {
	repo, err := create(ctx, filepath.Join(dir, "git"), from.via)
	if err != nil {
		return nil, err
	}
	err = repo.fetch(ctx, from, artifactRef(m.SHA256), refArtifact)
	if noSuchRef(err) {
		err = repo.fetch(ctx, from, artifactTag(m.SHA256), refArtifact)
	}
	if noSuchRef(err) {
		return nil, err
	}
	if err != nil {
		return nil, fetchError(err, from)
	}
	objects, err := repo.open(ctx)
	if err != nil {
		return nil, err
	}
	defer objects.close()
	wasm, err := objects.read(refArtifact+"^{blob}", "blob", m.Size)
	if err != nil {
		return nil, refuseFor(err, abi.ReasonTampered, nil, "artifact %q: %v", m.SHA256, err)
	}
	return wasm, nil
}

// fetchURL downloads a module from the https URL in its release. It follows
// redirects only within the host, and reads no more than the size that was signed.
func (c *Client) fetchURL(ctx context.Context, v *verified) ([]byte, error) {
	if v.Module.URL == "" {
		return nil, abi.Errorf(abi.ErrNotFound, "fetch", "registry %q has no artifact %q", v.Registry, v.Module.SHA256)
	}
	u, err := url.Parse(v.Module.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, malformed(v.Module.URL, "a module's URL is https, without a user")
	}
	client := *c.cfg.HTTP
	client.Jar = nil
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if len(via) > 5 || next.URL.Scheme != "https" || next.URL.Host != u.Host {
			return errors.New("redirect to another host")
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("asking for the module: %w", err)
	}
	res, err := client.Do(req)
	if _, silent := errors.AsType[*net.OpError](err); silent {
		return nil, abi.Errorf(abi.ErrTimeout, "fetch", "no answer from %q: %w", u, err)
	}
	if err != nil {
		return nil, abi.Errorf(abi.ErrNotFound, "fetch", "module %q can't be fetched: %w", u, err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, abi.Errorf(abi.ErrNotFound, "fetch", "module %q can't be fetched: status %d", u, res.StatusCode)
	}
	wasm, err := io.ReadAll(io.LimitReader(res.Body, v.Module.Size+1))
	if err != nil {
		return nil, abi.Errorf(abi.ErrNotFound, "fetch", "module %q can't be fetched: %w", u, err)
	}
	return wasm, nil
}
