import { copyFile, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ArgumentsError, CallError, errnos } from '../middleware/errors.ts';
import type { ApiMethod } from '../middleware/method.ts';
import { nonEmptyTextModel, objectModel, requiredField } from '../middleware/parameter-model.ts';
import type { NasDataset, NasState } from '../nas-state.ts';
import { existsOnNas, realPath, volumeSize, zvolName, zvolPath } from '../storage/dataset-files.ts';
import { devicesOf, vmNameOf, vmStateOf } from './vm-runtime.ts';

const formats = /\.?(qcow2|qed|raw|vdi|vhdx|vmdk)$/;
const schema = 'vm.device.convert';

/** `vm.device.convert` and `virtual_size`. Only raw images are converted here. */
export const convertMethods: readonly ApiMethod[] = [
  {
    name: 'vm.device.convert',
    parameters: [
      {
        name: 'vm_convert',
        field: requiredField(
          objectModel({ source: requiredField(nonEmptyTextModel), destination: requiredField(nonEmptyTextModel) }),
        ),
      },
    ],
    access: ['VM_DEVICE_WRITE'],
    job: { lock: () => 'vm.device.convert' },
    work: ([data], { nas }) => convert(nas, data as { source: string; destination: string }),
  },
  {
    name: 'vm.device.virtual_size',
    parameters: [
      { name: 'vm_virtual_size', field: requiredField(objectModel({ path: requiredField(nonEmptyTextModel) })) },
    ],
    access: ['VM_DEVICE_READ'],
    run: ([data], { nas }) => virtualSize(nas, 'vm.device.virtual_size', (data as { path: string }).path),
  },
];

function convertError(at: string, message: string, errno: number = errnos.EINVAL): ArgumentsError {
  return new ArgumentsError([[at, message, errno]], 'ValidationError');
}

async function convert(nas: NasState, { source, destination }: { source: string; destination: string }): Promise<true> {
  const fromImage = formats.test(source);
  if (fromImage === formats.test(destination)) {
    throw convertError(schema, 'One path must be a disk image and the other must be a ZFS volume');
  }
  const at = `${schema}.${fromImage ? 'source' : 'destination'}`;
  const image = fromImage ? source : destination;
  await checkImage(nas, at, image, fromImage);
  const zvol = findZvol(nas, at, fromImage ? destination : source);
  if (!image.endsWith('raw')) throw new CallError('qemu-img convert failed: only raw images are simulated', 1);
  const device = realPath(nas, zvolPath(zvol.id));
  if (!fromImage) {
    await copyFile(device, realPath(nas, image));
    return true;
  }
  if ((await virtualSize(nas, at, image)) > volumeSize(zvol)) {
    const inGibibytes = (bytes: number) => Math.max(1, Math.ceil(bytes / 1024 ** 3));
    const needed = inGibibytes(await virtualSize(nas, at, image));
    const message = `${zvol.id} too small (~${inGibibytes(volumeSize(zvol))}G). Minimum size must be ${needed}G`;
    throw convertError(at, message, errnos.ENOSPC);
  }
  await overwrite(realPath(nas, image), device);
  return true;
}

async function checkImage(nas: NasState, at: string, path: string, mustExist: boolean): Promise<void> {
  if (!path.startsWith('/mnt/') || dirname(path) === '/mnt') throw convertError(at, `'${path}' is an invalid location`);
  const isThere = existsOnNas(nas, path);
  if (mustExist && !isThere) throw convertError(at, `'${path}' does not exist`, errnos.ENOENT);
  if (mustExist && !(await stat(realPath(nas, path))).isFile()) throw convertError(at, `'${path}' is not a file`);
  if (!mustExist && isThere) throw convertError(at, `'${path}' already exists and would be overwritten`, errnos.EEXIST);
  if (!existsOnNas(nas, dirname(path))) throw convertError(at, `'${dirname(path)}' does not exist`, errnos.ENOENT);
}

function findZvol(nas: NasState, at: string, path: string): NasDataset {
  const name = zvolName(path);
  const zvol = nas.datasets.get(name);
  if (!zvol) throw convertError(at, `'${name}' does not exist`, errnos.ENOENT);
  if (zvol.type !== 'VOLUME') throw convertError(at, `'${name}' is not a volume`);
  const holder = [...nas.vms.values()].find(
    (vm) =>
      vmStateOf(nas, vm) === 'RUNNING' &&
      devicesOf(nas, vm).some(({ attributes }) => attributes['path'] === zvolPath(name)),
  );
  if (!holder) return zvol;
  const message = `'${zvolPath(name)}' is part of running VM. '${vmNameOf(holder)}' must be stopped first`;
  throw convertError(at, message, errnos.EBUSY);
}

async function virtualSize(nas: NasState, at: string, path: string): Promise<number> {
  if (!path.startsWith('/')) throw convertError(at, `'${path}' must be an absolute path.`);
  if (!existsOnNas(nas, path)) {
    throw convertError(
      at,
      'Failed to run command to determine virtual size: qemu-img returned non-zero exit status 1.',
    );
  }
  return (await stat(realPath(nas, path))).size;
}

/** Copies a file to the start of another, which keeps its size. */
async function overwrite(from: string, to: string): Promise<void> {
  const [source, target] = [await open(from, 'r'), await open(to, 'r+')];
  try {
    let position = 0;
    for await (const chunk of source.createReadStream({ autoClose: false })) {
      await target.write(chunk, 0, chunk.length, position);
      position += chunk.length;
    }
  } finally {
    await source.close();
    await target.close();
  }
}
