// foretoken serve: the OpenAI API over HTTP, many answers at once.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "apps/command_line.h"
#include "apps/serve/serve_args.h"
#include "base/interrupt.h"
#include "base/legible.h"
#include "base/memory_reserve.h"
#include "base/warning.h"
#include "serve/api/service.h"
#include "serve/http/http_server.h"
#include "serve/openai/error.h"

namespace foretoken {
namespace {

// For what is left to be sent once the last answer has ended.
constexpr double kSendSeconds = 5;

std::new_handler previous_new_handler = nullptr;
// Both are never destroyed.
MemoryReserve* engine_reserve = nullptr;
MemoryReserve* request_reserve = nullptr;

// Threads that find no memory continue with that of a reserve: the engine's have a pass to end for
// all that run, and those of requests may be in a destructor of nlohmann::json, which allocates. A
// request that finds the reserve empty fails alone.
void RefuseMemory() {
  if (HttpServer::OwnsThread()) {
    if (request_reserve->Release()) return;
    throw std::bad_alloc();
  }
  if (engine_reserve->Release()) return;
  if (previous_new_handler == nullptr) throw std::bad_alloc();
  previous_new_handler();
}

// Returns large blocks to the system when they are freed. By default glibc raises the threshold to
// the largest block it has seen and keeps freed bodies in an arena for each of many threads.
void KeepMemoryFlat() {
#ifdef __GLIBC__
  constexpr int kMmapThreshold = 1 << 20, kArenas = 4;
  mallopt(M_MMAP_THRESHOLD, kMmapThreshold);
  mallopt(M_ARENA_MAX, kArenas);
#endif
}

HttpReply StillLoading() {
  return openai::ErrorReply(openai::UnavailableError("The model is still loading."));
}

void WarnIfOpen(const ServeArgs& args, const HttpServer& server, bool has_keys) {
  if (server.is_loopback() || has_keys) return;
  Warn("listening on " + args.host +
       " without --api-key: anyone who can reach this machine may use the model");
}

// Waits for a signal, and for the answers under way after it.
void ServeUntilStopped(const ServeArgs& args, openai::Service& service, HttpServer& server) {
  constexpr std::chrono::milliseconds kBetweenLooks(100);
  while (!InterruptGuard::Requested()) std::this_thread::sleep_for(kBetweenLooks);
  InterruptGuard::Clear();
  std::fputs("foretoken: shutting down; a second signal cancels running answers\n", stderr);
  server.Drain();
  service.Drain(args.drain_seconds, InterruptGuard::Requested);
  server.Stop(kSendSeconds);
}

Status RunServer(const ServeArgs& args) {
  KeepMemoryFlat();
  FT_ASSIGN_OR_RETURN(HttpServerOptions http, HttpOptionsOf(args));
  const bool has_keys = !http.guard.api_keys.empty();
  LoadedModel loaded;
  std::unique_ptr<openai::Service> service;
  std::atomic<openai::Service*> ready = nullptr;
  http.logged_paths = openai::Service::Paths();
  http.on_refusal = [&ready](int status) {
    openai::Service* const counting = ready.load(std::memory_order_acquire);
    if (counting != nullptr) counting->CountRefusal(status);
  };
  // The port is bound before the model is loaded, so that a port in use is reported at once.
  FT_ASSIGN_OR_RETURN(const auto server, HttpServer::Bind(std::move(http)));
  server->Start([&ready](const HttpRequest& request) {
    openai::Service* const answering = ready.load(std::memory_order_acquire);
    return answering == nullptr ? StillLoading() : answering->Handle(request);
  });
  FT_ASSIGN_OR_RETURN(loaded, Load(args.model));
  FT_ASSIGN_OR_RETURN(openai::ServiceOptions options, ServiceOptionsOf(args, *loaded.file));
  if (engine_reserve == nullptr) {
    engine_reserve = new MemoryReserve;
    request_reserve = new MemoryReserve;
  }
  options.scheduler.reserve = engine_reserve;
  options.request_reserve = request_reserve;
  FT_ASSIGN_OR_RETURN(
      service, openai::Service::Create(loaded, args.model.path, args.draft, std::move(options)));
  WarnIfLossy(args.draft);
  WarnIfOpen(args, *server, has_keys);
  const InterruptGuard guard(InterruptGuard::Notes::kEveryStop);
  previous_new_handler = std::set_new_handler(RefuseMemory);
  ready.store(service.get(), std::memory_order_release);
  std::fprintf(stderr, "foretoken: %s on %s (%d slots, drafter %s)\n",
               Legible(service->model()).c_str(), server->Url().c_str(), args.parallel,
               service->DrafterName().c_str());
  ServeUntilStopped(args, *service, *server);
  return {};
}

}  // namespace

int Run_serve(int argc, char** argv) {
  CLI::App app{"Serves the OpenAI API over HTTP, many requests at a time.", "foretoken serve"};
  ServeArgs args;
  DeclareServe(app, &args);
  if (const auto status = ParseCommandLine(app, argc, argv)) return *status;
  if (const Status usage = CheckServe(args); !usage.ok()) return BadUsage(usage.error());
  const Status served = RunServer(args);
  return served.ok() ? kExitDone : Failed(served.error());
}

}  // namespace foretoken
