// The chat page at `/`, out of the program itself: it works without a network.
#pragma once

#include "serve/http/routes.h"

namespace sinter::serve {

// The page and its files; they need no key, and say nothing of the server. A policy in their head
// lets scripts and requests come from and go to this server alone.
void addPage(Routes &routes);

} // namespace sinter::serve
