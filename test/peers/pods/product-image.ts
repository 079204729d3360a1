import { join } from 'node:path';
import { projectRoot } from '../../setup/generated-files.ts';
import { type BaseImages, makePauseImage, prepareBaseImages } from './base-images.ts';
import { openDockerEngine } from './docker-engine.ts';

/** The images of a node, in one file. */
export interface ImageArchive {
  /** In the format of `docker save`. */
  readonly path: string;
  readonly pause: string;
  /** The product's image as a release and as the next one: the same content. */
  readonly tags: { readonly current: string; readonly next: string };
  /** Of the product's image. */
  readonly bytes: number;
  readonly origin: BaseImages['origin'];
}

export const repository = 'cluster-provider-talos';

/** Builds the product's image with its own Dockerfile and a real Docker engine. `folder`: for the archive. */
export async function buildProductImage(folder: string): Promise<ImageArchive> {
  const engine = await openDockerEngine(folder);
  try {
    const { origin, buildArguments } = await prepareBaseImages(engine, folder);
    const pause = await makePauseImage(engine, folder);
    const tags = { current: 'tests', next: 'tests-next' };
    const [image, next] = [tags.current, tags.next].map((tag) => `${repository}:${tag}`);
    // An engine of our own has no network but that of this machine.
    const network = engine.isOwn ? ['--network=host'] : [];
    const words = [...network, ...buildArguments, `--tag=${image}`, `--tag=${next}`];
    await engine.docker(['build', ...words, projectRoot], 600);
    const path = join(folder, 'images.tar');
    await engine.docker(['save', `--output=${path}`, `${image}`, `${next}`, pause], 120);
    const bytes = Number(await engine.docker(['image', 'inspect', '--format={{.Size}}', `${image}`]));
    if (engine.isOwn) await engine.docker(['image', 'prune', '--force', '--filter=until=168h']);
    return { path, pause, tags, bytes, origin };
  } finally {
    await engine.close();
  }
}
