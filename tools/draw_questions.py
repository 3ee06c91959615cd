#!/usr/bin/env python3
"""Draws the questions that a draft's target is to answer (`foretoken distill`, `train answers`).

Reads conversations (ShareGPT JSONL) of the data folder, keeps each one's first question with the
system message before it, and takes a fixed number of every file, chosen by chance with a fixed
seed. Questions of more than --longest characters, and repetitions, are left out.

  tools/draw_questions.py --data ../shared/data/train --out questions.jsonl
  tools/draw_questions.py --data ../shared/data/train --mix tasks --seed 20261129 --out tasks.jsonl
"""

import argparse
import json
import pathlib
import random
import sys

# Questions of each file. In `all`, kinds of which users ask much have most: exercises, questions
# about facts and texts, instructions, code. `tasks` has more of what the answers in
# ../shared/data/distilled have little of: translation, summaries, answers from a text, arithmetic.
MIXES = {'all': {
    'aqua': 500, 'disflqa': 800, 'dolly_6k': 5600, 'exercism_solve': 400,
    'exercism_translate': 300, 'gpteacher_codegen': 3000, 'gpteacher_roleplay': 1900,
    'gsm8k_train': 7000, 'mbpp': 950, 'natural_instructions_v1': 395, 'octopack_oasst': 1098,
    'openassistant_en100': 300, 'openstax_glossary_qa': 3000, 'python_bugfix': 800,
    'python_doc2code': 1200, 'python_edit': 800, 'qed_nq': 1300, 'qmsum': 1100, 'scitldr': 2500,
    'selfinstruct_seed_user': 426, 'sgd': 300, 'svamp': 500, 't0_permissive': 3500,
    'tal_scq5k_en': 2000, 'taskmaster4': 200, 'text2sql': 500, 'text_edit_derived': 1500,
    'tldr_pages': 1500, 'topical_chat': 600, 'wikisplit': 1000, 'xquad_de_en': 1500,
    'xquad_qa': 239,
}, 'tasks': {
    'xquad_de_en': 1500, 't0_permissive': 1100, 'gsm8k_train': 900, 'dolly_6k': 800, 'qed_nq': 500,
    'qmsum': 250, 'scitldr': 350, 'gpteacher_roleplay': 300, 'octopack_oasst': 300,
    'openstax_glossary_qa': 200, 'topical_chat': 100, 'tal_scq5k_en': 200, 'xquad_qa': 100,
    'gpteacher_codegen': 200, 'openassistant_en100': 100,
}}
SHORTEST = 3  # characters


def first_question(conversation):
    """Returns the messages up to the first question, [] if there is none."""
    messages = []
    for message in conversation:
        if message['from'] in ('system', 'human'):
            messages.append(message)
        if message['from'] == 'human':
            return messages
    return []


def questions_of(path, longest, seen):
    """Returns the questions of a file that are not in `seen`, and adds them to it."""
    found = []
    with path.open(encoding='utf-8') as lines:
        for line in lines:
            messages = first_question(json.loads(line)['conversations'])
            key = json.dumps(messages)
            if messages and SHORTEST <= len(messages[-1]['value']) <= longest and key not in seen:
                seen.add(key)
                found.append(messages)
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--data', type=pathlib.Path, required=True, help='folder of *.jsonl')
    parser.add_argument('--out', type=pathlib.Path, required=True, help='file to write')
    parser.add_argument('--longest', type=int, default=3200, help='characters (default 3200)')
    parser.add_argument('--mix', choices=MIXES, default='all', help='how many of which file')
    parser.add_argument('--seed', type=int, default=20261127)
    args = parser.parse_args()
    chance = random.Random(args.seed)
    drawn, seen = [], set()
    for name, count in MIXES[args.mix].items():
        path = args.data / f'{name}.jsonl'
        if not path.is_file():
            sys.exit(f'{path}: not found')
        questions = questions_of(path, args.longest, seen)
        chance.shuffle(questions)
        drawn += questions[:count]
    chance.shuffle(drawn)
    with args.out.open('w', encoding='utf-8') as out:
        for messages in drawn:
            out.write(json.dumps({'conversations': messages}, ensure_ascii=False) + '\n')
    print(f'{len(drawn)} questions in {args.out}')


if __name__ == '__main__':
    main()
