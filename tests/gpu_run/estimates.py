"""Seconds of tests that no page of an earlier run knows: counted starts of trainx, three seconds
each. They decide what starts first."""

# By entry, by the beginning of the entry's name.
OF_ENTRIES = {"gpu.kernels": 1.5, "gpu": 8, "e2e": 40}
# Of all parts of a test, by the beginning of its name.
OF_TESTS = {
    "e2e.bert_gpu_test": {"BertOnGpu.test_attention_by_each_kind": 90},
    "e2e.encoders_gpu_test": {"EncodersOnGpu.test_losses_are_those_of_transformers": 200},
    "e2e.experts_gpu_test": {"ExpertsOnGpu.test_losses_are_those_of_the_cpu": 100,
                             "ExpertsOnGpu.test_the_loss_that_keeps_logits_small": 60},
    "e2e.exported_gpu_test": {"ExportedOnGpu.test_the_losses_of_transformers": 240,
                              "ExportedOnGpu.test_passes_and_captured_steps_change_no_bit": 120},
    "e2e.families_gpu_test": {
        "FamiliesOnGpu.test_losses_are_those_of_transformers": 830,
        "FamiliesOnGpu.test_greedy_text_is_that_of_transformers": 500,
        "FamiliesOnGpu.test_the_same_bits": 250,
        "FamiliesOnGpu.test_packed_rows_have_the_losses_of_the_cpu": 50},
    "e2e.faults_gpu_test": {"FaultsOfAGpu.test_kills_in_saves": 80, "FaultsOfAGpu.test_kills": 120,
                            "FaultsOfAGpu.test_allocations": 70, "FaultsOfAGpu.test_losses": 150,
                            "FaultsOfAGpu.test_disks": 60},
    "e2e.gpt2_gpu_test": {"Gpt2OnGpu.test_the_losses_of_the_cpu": 110,
                          "Gpt2OnGpu.test_attention_by_each_kind": 50},
    "e2e.memory_gpu_test": {
        "MemoryOnGpu.test_every_lever": 80,
        "MemoryOnGpu.test_copies_run_beside_the_computation": 15},
    "e2e.anatomy_gpu_test": {"AnatomyOnGpu.test_operations": 10},
    "e2e.offload_gpu_test": {
        "OffloadOnGpu.test_the_next_forward": 15,
        "OffloadOnGpu.test_gradients_that_leave_as_bf16": 70,
        "OffloadOnGpu.test_weights_on_the_host_have": 60,
        "OffloadOnGpu.test_weights_on_the_disk": 150},
    "e2e.own_modules_gpu_test": {"OwnModulesOnGpu.test_bf16_fp16_and_tf32": 65},
    "e2e.own_optimizer_gpu_test": {"OwnOptimizersOnGpu.test_the_losses_of_the_cpu": 60,
                                   "OwnOptimizersOnGpu.test_every_precision": 60,
                                   "OwnOptimizersOnGpu.test_captured_steps": 60},
    "e2e.packing_gpu_test": {
        "PackingOnGpu.test_the_losses_of_documents": 60},
    "e2e.seq2seq_gpu_test": {"Seq2SeqOnGpu.test_losses_are_those_of_transformers": 130},
}


def given(entry, test, parts):
    """Seconds of one part of a test."""
    for start, seconds in OF_TESTS.get(entry, {}).items():
        if test.startswith(start):
            return seconds / parts
    return next(seconds for start, seconds in OF_ENTRIES.items() if entry.startswith(start))
