import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cgroupHierarchies } from './find-programs.ts';

/** Creates a group in every hierarchy, so that everything that is left can be found. */
export function createCgroup(name: string): void {
  for (const hierarchy of cgroupHierarchies()) {
    const group = join(hierarchy, name);
    mkdirSync(group, { recursive: true });
    // A new group of this hierarchy has none, and accepts no process before it has.
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (existsSync(join(group, file))) writeFileSync(join(group, file), readFileSync(join(hierarchy, file)));
  }
}

/** Removes a group with all groups below it, as soon as the kernel has ended their processes. */
export async function removeCgroup(name: string): Promise<void> {
  const groups = cgroupHierarchies()
    .map((hierarchy) => join(hierarchy, name))
    .filter(existsSync);
  const end = performance.now() + 10_000;
  for (const group of groups) while (!isRemoved(group) && performance.now() < end) await pause(50);
}

function isRemoved(group: string): boolean {
  try {
    for (const entry of readdirSync(group, { withFileTypes: true }))
      if (entry.isDirectory() && !isRemoved(join(group, entry.name))) return false;
    rmdirSync(group);
    return true;
  } catch {
    // A process in it is still ending.
    return false;
  }
}
