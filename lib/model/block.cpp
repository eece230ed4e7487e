#include "model/block.hpp"
#include "core/error.hpp"

namespace trainx::model {

void Block::forward(BlockContext&) { throw InternalError("this block has no forward"); }
void Block::backward(BlockContext&) { throw InternalError("this block has no backward"); }
void Block::loss(BlockContext&) { throw InternalError("this block has no loss"); }
void Block::evaluate(BlockContext&) { throw InternalError("this block does not evaluate"); }
void Block::predict(BlockContext&) { throw InternalError("this block does not predict"); }

}  // namespace trainx::model
