/**
 * `npm run tree -- FOLDER`: the files that the Dockerfile adds to its base image, without Docker. For a look at what is
 * shipped, and for tests that run the program from it.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { projectRoot } from './generated-files.ts';

/** A COPY of the last stage: from where in this tree or in the machine to where in the image. */
interface Copy {
  readonly from: string;
  readonly to: string;
}

/** What the last stage of the Dockerfile copies. Node itself is the base image's business and is left out. */
export function copiesOf(dockerfile: string): Copy[] {
  const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
  return [...lastStage.matchAll(/^COPY (?:--from=(\S+) )?(\S+) (\S+)$/gm)].flatMap(([, stage, from = '', to = '']) => {
    if (stage === 'node') return [];
    return [{ from: stage === 'build' ? from.replace(/^\/build\//, '') : from, to }];
  });
}

/** Makes that tree in an empty or new folder. The program has to be built. */
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
