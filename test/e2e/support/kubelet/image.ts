import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../setup/generated-files.ts';
import { makeImageTree } from '../../../setup/image-tree.ts';

/** The part of an image that a container engine needs. */
export interface Image {
  /** Its own files; those of its base image come from this machine. */
  readonly folder: string;
  readonly entrypoint: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly user: number;
}

/** The built program as the image that our Dockerfile makes of it, in an empty or new folder. */
export function makeImage(folder: string): Image {
  makeImageTree(folder);
  const text = readFileSync(join(projectRoot, 'Dockerfile'), 'utf8');
  const stage = text.slice(text.lastIndexOf('\nFROM '));
  const [, user = ''] = /^USER (\d+)/m.exec(stage) ?? [];
  const [, entrypoint = ''] = /^ENTRYPOINT (.*)$/m.exec(stage) ?? [];
  const variables = [...stage.matchAll(/^ENV (\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]);
  return {
    folder,
    entrypoint: JSON.parse(entrypoint),
    environment: Object.fromEntries(variables),
    user: Number(user),
  };
}
