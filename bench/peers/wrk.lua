-- One body for all requests: wrk -s wrk.lua URL -- BODY-FILE ["Name: value"...]

function init(args)
   local file = io.open(args[1], "rb")
   wrk.method = "POST"
   wrk.body = file:read("*a")
   file:close()
   for i = 2, #args do
      local name, value = args[i]:match("^([^:]+): (.*)$")
      wrk.headers[name] = value
   end
end

function done(summary, latency, requests)
   local errors = summary.errors
   local bad = errors.connect + errors.read + errors.write + errors.status + errors.timeout
   print(string.format("\nfigures %d %d %d %g %g %g", summary.requests, summary.duration, bad,
      latency.mean, latency:percentile(50), latency:percentile(99)))
end
