package platform

// A Running is a process of this user.
type Running struct {
	PID  int
	Args []string          // its command line
	Env  map[string]string // as it was started with
}
