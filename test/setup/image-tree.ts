/**
 * `npm run tree -- FOLDER`: creates the files that the Dockerfile adds to its base image, without Docker. For
 * inspecting the shipped files, and for tests that run the program from them.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { projectRoot } from './generated-files.ts';

/** A COPY of the last stage: the source in this tree or machine, and the target in the image. */
interface Copy {
  readonly from: string;
  readonly to: string;
}

/** The copies of the last stage of the Dockerfile. Node itself is part of the base image and left out. */
export function copiesOf(dockerfile: string): Copy[] {
  const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
  return [...lastStage.matchAll(/^COPY (?:--from=(\S+) )?(\S+) (\S+)$/gm)].flatMap(([, stage, from = '', to = '']) => {
    if (stage === 'node') return [];
    return [{ from: stage === 'build' ? from.replace(/^\/build\//, '') : from, to }];
  });
}

/** Creates that tree in an empty or new folder. The program has to be built. */
export function makeImageTree(folder: string): void {
  mkdirSync(folder, { recursive: true });
  if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty.`);
  for (const { from, to } of copiesOf(readFileSync(join(projectRoot, 'Dockerfile'), 'utf8'))) {
    const target = join(folder, to);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(projectRoot, from), target, { recursive: true, filter: (path) => !path.endsWith('.built') });
  }
}

if (process.argv[1] === import.meta.filename) {
  const [folder] = process.argv.slice(2);
  if (!folder) throw new Error('Say into which folder.');
  makeImageTree(folder);
}
