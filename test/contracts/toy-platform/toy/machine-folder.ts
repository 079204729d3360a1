import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StepContext } from '../../engine/contexts.ts';
import type { ToyConfig } from './config.ts';
import { ToyError } from './error-codes.ts';

export type ToyStepContext = StepContext<ToyConfig>;
type MachineOwner = Pick<ToyStepContext, 'config' | 'owner'>;

/** Files of a machine: its owner, its boot disc, its configuration, its disk, and the switch. */
type MachineFile = 'owner.json' | 'talos.iso' | 'seed.iso' | 'disk.json' | 'on';

const folderOf = ({ config, owner }: MachineOwner): string => join(config.folder, owner.machine);

/** Throws TOY_FOLDER_MISSING. */
export async function assertParentFolder({ folder }: ToyConfig): Promise<void> {
  if (!(await exists(folder))) throw new ToyError('TOY_FOLDER_MISSING', folder);
}

/** Whether the machine has its folder. Throws TOY_NOT_OURS when another owner has one of this name. */
export async function hasOwnFolder(context: MachineOwner): Promise<boolean> {
  await assertParentFolder(context.config);
  if (!(await exists(folderOf(context)))) return false;
  const mark = await readFile(join(folderOf(context), 'owner.json'), 'utf8');
  if (mark !== JSON.stringify(context.owner)) throw new ToyError('TOY_NOT_OURS', folderOf(context));
  return true;
}

export async function createOwnFolder(context: MachineOwner): Promise<void> {
  if (await hasOwnFolder(context)) return;
  await mkdir(folderOf(context));
  await writeMachineFile(context, 'owner.json', JSON.stringify(context.owner));
}

export const writeMachineFile = async (context: MachineOwner, name: MachineFile, content: Uint8Array | string) =>
  await writeFile(join(folderOf(context), name), content);

export const hasMachineFile = async (context: MachineOwner, name: MachineFile): Promise<boolean> =>
  await exists(join(folderOf(context), name));

export const removeMachineFile = async (context: MachineOwner, name: MachineFile) =>
  await rm(join(folderOf(context), name), { force: true });

export const removeOwnFolder = async (context: MachineOwner) => await rm(folderOf(context), { recursive: true });

const exists = async (path: string): Promise<boolean> =>
  await stat(path).then(
    () => true,
    () => false,
  );
