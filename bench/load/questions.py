"""Makes distinct requests from question files in Spec-Bench's format."""
import json
import random

FEWEST_TOKENS, MOST_TOKENS = 32, 128
# Sampling options sent explicitly, since servers' defaults differ.
SAMPLERS = {"top_k": 0, "min_p": 0, "repeat_penalty": 1.0}
GREEDY = {"temperature": 0}


def prompts_of(paths, most_characters):
    """The distinct first turns of all files' questions, without those longer than `most_characters`."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                prompt = json.loads(line)["turns"][0]
                if len(prompt) <= most_characters:
                    found.setdefault(prompt, None)
    return list(found)


def make_requests(paths, count, most_characters, seed):
    """Bodies of chat requests with distinct prompts. Every second request is greedy, the others are sampled
    with fixed seeds; max_tokens is uniform in [FEWEST_TOKENS, MOST_TOKENS]."""
    rng = random.Random(seed)
    prompts = prompts_of(paths, most_characters)
    if len(prompts) < count:
        raise SystemExit(f"{len(prompts)} prompts of at most {most_characters} characters, {count} are needed")
    bodies = []
    for i, prompt in enumerate(rng.sample(prompts, count)):
        sampling = GREEDY if i % 2 == 0 else {"temperature": 0.8, "top_p": 0.95, "seed": i}
        bodies.append({
            "model": "any", "messages": [{"role": "user", "content": prompt}],
            "max_tokens": rng.randint(FEWEST_TOKENS, MOST_TOKENS), **SAMPLERS, **sampling
        })
    return bodies
