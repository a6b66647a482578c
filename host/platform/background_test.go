package platform_test

import "context"

// background is for the roles, which have no test and so no t.Context.
func background() context.Context { return context.Background() }
