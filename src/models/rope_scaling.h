// RoPE beyond the positions of training: what a file asks for, as numbers for each rotating pair.
#pragma once

#include <cstdint>
#include <vector>

namespace sinter::models {

struct RopeScaling {
  enum class Kind : uint8_t {
    None,   // frequencies of the base
    Linear, // position / factor
    Yarn,   // Peng et al., 2309.00071: fast pairs as they are, slow ones by position / factor, and
            // a ramp between
  };
  Kind kind = Kind::None;
  double factor = 1;           // above 0
  int64_t originalContext = 0; // positions of training; YaRN reads it
  float attentionFactor = 1;   // on cosines and sines of any kind
  // Turns within the context of training between which YaRN's pairs go over from one frequency to
  // the other.
  float fastTurns = 32, slowTurns = 1;
  float logMultiplier = 0; // of the logarithm by which YaRN's magnitude is divided; 0: undivided
};

// What multiplies the frequencies base^(-2 i / dims) of pairs i < dims / 2; empty where all are 1.
// YaRN wants a base above 1.
std::vector<float> frequencyScales(const RopeScaling &scaling, int64_t dims, double base);

// What multiplies cosines and sines.
float rotationMagnitude(const RopeScaling &scaling);

} // namespace sinter::models
