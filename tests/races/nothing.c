/* In libaflame's place: crowd64 has it in itself. */
