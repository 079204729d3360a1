import type { Machine } from '../../api/machine.ts';

/** A fact of a Machine's steps, as text. */
export const readMachineFact = (machine: Machine, name: string): string | undefined => {
  const value = machine.status?.progress?.facts[name];
  return value === undefined ? undefined : String(value);
};
