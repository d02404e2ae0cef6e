// A model of a table with initial weights: available at once, and as fast as a trained one.
#pragma once
#include "commands/fit_arguments.h"
#include "commands/session.h"

tessera::Model rehearsed_model(Session& session, const std::string& data, const CsvArguments& csv,
                               const FitArguments& fit);
