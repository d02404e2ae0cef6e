// A model of a table with its first weights: as fast as a trained one, and there at once.
#pragma once
#include "commands/fit_arguments.h"
#include "commands/session.h"

tessera::Model rehearsed_model(Session& session, const std::string& data, const CsvArguments& csv,
                               const FitArguments& fit);
