import type { Observation } from '../../engine/observation.ts';
import { done, type Step } from '../../engine/step.ts';
import { uuidFromNames } from '../../lib/hash.ts';
import { buildIso } from '../../lib/iso9660.ts';
import { downloadImage, ensureSchematic, isoUrl } from '../../talos/image-factory/client.ts';
import {
  createOwnFolder,
  hasMachineFile,
  hasOwnFolder,
  removeMachineFile,
  removeOwnFolder,
  type ToyStepContext,
  writeMachineFile,
} from './machine-folder.ts';

export const provision: readonly Step<ToyStepContext>[] = [
  {
    name: 'folder-created',
    async run(context) {
      const { address, prefix, gateway = '' } = await context.addresses.claim();
      await createOwnFolder(context);
      const { diskGiB = 0 } = context.config.sizes.find(({ name }) => name === context.node.size) ?? {};
      const uuid = uuidFromNames('toy', context.owner.installation, context.owner.machine);
      const mac = `02:${uuid
        .replaceAll('-', '')
        .slice(0, 10)
        .replace(/..(?=.)/g, '$&:')}`;
      await writeMachineFile(context, 'disk.json', JSON.stringify({ uuid, mac, diskGiB }));
      return done({ address, prefix, gateway, uuid, mac });
    },
  },
  {
    name: 'image-fetched',
    async run(context) {
      const { factoryUrl, schematic, version } = context.node.talos;
      if (await hasMachineFile(context, 'talos.iso')) return done();
      const schematicId = await ensureSchematic(factoryUrl, schematic, context);
      const { body } = await downloadImage(isoUrl({ factoryUrl, platform: 'nocloud', schematicId, version }), context);
      const parts: Uint8Array[] = [];
      for await (const part of body) parts.push(part);
      await writeMachineFile(context, 'talos.iso', Buffer.concat(parts));
      return done();
    },
  },
  {
    name: 'seed-written',
    async run(context) {
      const { address, prefix, gateway, uuid, mac } = context.facts;
      const config = await context.machineConfig({
        installDisk: '/dev/vda',
        imagePlatform: 'nocloud',
        links: [{ mac: String(mac), addresses: [`${address}/${prefix}`], gateway: String(gateway) }],
        providerId: `toy://${context.node.name}`,
      });
      const files = {
        'user-data': Buffer.from(config.reveal()),
        'meta-data': Buffer.from(`instance-id: ${uuid}\nlocal-hostname: ${context.node.name}\n`),
      };
      await writeMachineFile(context, 'seed.iso', buildIso({ label: 'cidata', minBytes: 128 * 1024, files }));
      return done();
    },
  },
  {
    name: 'switched-on',
    async run(context) {
      await writeMachineFile(context, 'on', '');
      return done();
    },
  },
];

export const release: readonly Step<ToyStepContext>[] = [
  {
    name: 'switched-off',
    async run(context) {
      if (await hasOwnFolder(context)) await removeMachineFile(context, 'on');
      return done();
    },
  },
  {
    name: 'folder-removed',
    async run(context) {
      if (await hasOwnFolder(context)) await removeOwnFolder(context);
      await context.addresses.release();
      return done();
    },
  },
];

export async function observe(context: ToyStepContext): Promise<Observation> {
  const exists = await hasOwnFolder(context);
  return { exists, runs: exists && (await hasMachineFile(context, 'on')), drift: [] };
}
