import { done, type Step } from '../../../../engine/step.ts';
import { upload } from '../../api/upload.ts';
import { TrueNasError } from '../../error-codes.ts';
import {
  findFile,
  findKnownDataset,
  type MachineScope,
  machineScopeOf,
  type TrueNasStepContext,
} from '../../resources/machine-scope.ts';
import { buildSeed } from '../../resources/nocloud-seed.ts';
import { hardwareOf } from '../../resources/vm/node-hardware.ts';

/**
 * Before: the dataset exists. After: it contains the seed with the whole machine configuration. Done when a file with
 * its name, which follows from its content, has its size. A seed that is not recorded yet is written again.
 */
export const seedWritten: Step<TrueNasStepContext> = {
  name: 'seed-written',
  async run(context) {
    const system = machineScopeOf(context);
    const hardware = hardwareOf(context);
    const [link] = hardware.links;
    if (!link) throw new TrueNasError('INTERNAL', 'A machine without a network card.');
    const machineConfig = await context.machineConfig(hardware);
    const seed = buildSeed({
      hostname: context.node.name,
      instanceId: system.identity.uuid,
      link,
      machineConfig,
    });
    const path = `/mnt/${system.identity.dataset}/${seed.fileName}`;
    const known = context.facts['seed'] === path ? await findFile(system, path) : undefined;
    if (known?.size !== seed.image.length) await writeSeed(context, system, path, seed.image);
    return done({ seed: path, seedEmptied: false });
  },
};

/**
 * Writes a disc image into the machine's own dataset and replaces a file of the same name. It is complete when this
 * returns: the request was sent to its end, and the job that wrote it has succeeded.
 */
export async function writeSeed(
  context: TrueNasStepContext,
  system: MachineScope,
  path: string,
  image: Buffer,
): Promise<void> {
  const { dataset } = system.identity;
  // Without the dataset TrueNAS would create a folder, which no call can delete.
  if (!(await findKnownDataset(system, dataset)))
    throw new TrueNasError('TRUENAS_NOT_FOUND', `The dataset ${dataset}.`);
  const content = (async function* () {
    yield image;
  })();
  const { signal } = context;
  // QEMU runs as another user, and TrueNAS refuses a CD-ROM that this user cannot read.
  await upload(system.nas, context, { path, mode: 0o644, bytes: image.length, content, signal, seconds: 120 });
}
