package registry

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A wanted is a module that has to be there for a release.
type wanted struct {
	path string // of the release
	abi.Release
	// known says that the base lists the release: that the module is the one that is
	// named was looked at when the release was new.
	known bool
}

// want notes the module of a release. They are looked at last, when no more files
// are read: modules may take long, and the git that reads files has its time.
func (c *checker) want(path string, r abi.Release, known bool) {
	if r.Module == (abi.Module{}) {
		return // a kind that this host doesn't run
	}
	if r.Module.Size > abi.MaxModule {
		c.refuse(path, abi.Errorf(abi.ErrLimitExceeded, "", "the module has %d bytes, the limit is %d", r.Module.Size, abi.MaxModule))
		return
	}
	c.wanted = append(c.wanted, wanted{path, r, known})
}

// A place is a repository in which modules may be.
type place struct {
	address
	has map[string]string // sha256 > object id
}

// modules looks at all that are wanted. Known ones have to be where they were, and
// the object that they were; new ones are fetched.
func (c *checker) modules(ctx context.Context) error {
	if len(c.wanted) == 0 {
		return nil
	}
	places, err := c.places(ctx)
	if err != nil {
		return err
	}
	c.knownModules(places)
	fresh := slices.DeleteFunc(slices.Clone(c.wanted), func(w wanted) bool { return w.known })
	for len(fresh) > 0 {
		n, size := 1, fresh[0].Module.Size
		for n < min(len(fresh), mirrorBatch) && size+fresh[n].Module.Size <= mirrorBatchBytes {
			size += fresh[n].Module.Size
			n++
		}
		came := together(ctx, places[0], fresh[:n])
		for _, w := range fresh[:n] {
			c.say("checking the module of %s", w.path)
			if err := c.module(ctx, places, w, came[w.Module.SHA256]); err != nil {
				return err
			}
		}
		fresh = fresh[n:]
	}
	return nil
}

// together fetches modules in one run of git: a registry has thousands. Those that
// don't come that way, because one is missing or isn't what it should be, are for
// [checker.module] to fetch by themselves.
func together(ctx context.Context, from place, some []wanted) map[string][]byte {
	came := map[string][]byte{}
	if len(some) == 1 {
		return came
	}
	_ = inScratch(func(dir string) error { // whatever fails here is told when it fails again
		repo, err := create(ctx, filepath.Join(dir, "git"), from.via)
		if err != nil {
			return err
		}
		var refs []string
		for _, w := range some {
			if from.has[w.Module.SHA256] != "" {
				refs = append(refs, "+"+artifactRef(w.Module.SHA256)+":"+refArriving+w.Module.SHA256)
			}
		}
		slices.Sort(refs)
		if err := repo.fetchAll(ctx, from.address, slices.Compact(refs)); err != nil {
			return err
		}
		objects, err := repo.open(ctx)
		if err != nil {
			return err
		}
		defer objects.close()
		for _, w := range some {
			if wasm, err := objects.read(refArriving+w.Module.SHA256+"^{blob}", "blob", w.Module.Size); err == nil {
				came[w.Module.SHA256] = wasm
			}
		}
		return nil
	})
	return came
}

// places lists what each repository has; the source comes first.
func (c *checker) places(ctx context.Context) ([]place, error) {
	var list []place
	for _, from := range c.from {
		repo, err := c.repo(ctx, from)
		if err != nil {
			return nil, err
		}
		has, err := repo.artifactsAt(ctx, from)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.refuse("", err)
		list = append(list, place{from, has})
	}
	return list, nil
}

// knownModules compares the names of modules of published releases. The proposal's
// repository need not have them, but may not have others. A base that has none of
// them is a copy that was made without, and says nothing about what users meet.
func (c *checker) knownModules(places []place) {
	base := places[c.baseAt]
	var nowhere []wanted
	served := false
	for _, w := range c.wanted {
		if !w.known {
			continue
		}
		is, was := places[0].has[w.Module.SHA256], base.has[w.Module.SHA256]
		served = served || was != ""
		switch {
		case is != "" && was != "" && is != was:
			c.refuse(w.path, coded(codeHistory, "its module %q is another object in %q than in %q", w.Module.SHA256, places[0].url, base.url))
		case !anywhere(places, w.Module.SHA256) && w.Module.URL == "":
			nowhere = append(nowhere, w)
		}
	}
	for _, w := range nowhere {
		if served {
			c.refuse(w.path, missingModule(w))
		}
	}
	if len(nowhere) > 0 && !served {
		c.notice("", codeModule, "%q has no modules of published releases, such as that of %s: whether they are there was not looked at; --base URL says where the registry is", base.url, nowhere[0].path)
	}
}

func anywhere(places []place, sha256 string) bool {
	for _, p := range places {
		if p.has[sha256] != "" {
			return true
		}
	}
	return false
}

func missingModule(w wanted) error {
	return coded(codeModule, "its module is nowhere: push it as the tag drawbridge/artifacts/%s, and name the fork with --modules", w.Module.SHA256)
}

// module fetches a release's module, unless it came already, and has it looked at.
func (c *checker) module(ctx context.Context, places []place, w wanted, came []byte) error {
	for _, from := range places {
		if from.has[w.Module.SHA256] == "" {
			continue
		}
		wasm, err := came, error(nil)
		if wasm == nil {
			err = inScratch(func(dir string) (err error) {
				wasm, err = fetchArtifact(ctx, dir, from.address, w.Module)
				return err
			})
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case noSuchRef(err):
			continue // it went meanwhile
		case err == nil && (int64(len(wasm)) != w.Module.Size || hashOf(wasm) != w.Module.SHA256):
			err = refuse(abi.ReasonTampered, nil, "the module at %q isn't the one that the release names", artifactRef(w.Module.SHA256))
		case err == nil && c.opts.Admit != nil:
			err = c.opts.Admit(ctx, w.Release, wasm)
		}
		c.refuse(w.path, err)
		return nil
	}
	c.refuse(w.path, missingModule(w))
	return nil
}
