import { InvalidArgumentError } from 'commander';
import type { BindAddress } from '../../server/listen.ts';

/** The names of the controllers on the command line. */
export const controllerFlagValues = ['providerconfig', 'cluster', 'machine', 'host', 'accessrequest'] as const;
export type ControllerFlagValue = (typeof controllerFlagValues)[number];

/** The spellings that Go's flag packages accept, because the peers are started with them. */
export function parseBoolean(value: string): boolean {
  const item = value.toLowerCase();
  if (['1', 't', 'true'].includes(item)) return true;
  if (['0', 'f', 'false'].includes(item)) return false;
  throw new InvalidArgumentError('Use true or false.');
}

/** The choice in lower case. `-v=debug`: everything after a short flag is its value, including `=`. */
export const parseChoice =
  <T extends string>(choices: readonly T[]) =>
  (value: string): T => {
    const item = value.replace(/^=/, '').toLowerCase();
    const choice = choices.find((one) => one === item);
    if (choice === undefined) throw new InvalidArgumentError(`Use one of ${choices.join(', ')}.`);
    return choice;
  };

export function parseRequiredText(value: string): string {
  if (value === '') throw new InvalidArgumentError('The value is empty.');
  return value;
}

/** Maximum length of a label value. */
export const maxNameLength = 63;

/** Both names become part of a ClusterProfile's name and of label values, so both rules apply. */
export function parseName(value: string): string {
  const isName = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(value);
  if (isName && value.length <= maxNameLength) return value;
  throw new InvalidArgumentError(
    `Use at most ${maxNameLength} lower-case letters, digits, - and ., with a letter or digit first and last.`,
  );
}

/** `:8080`, `127.0.0.1:8080`, `[::1]:8080`; `0` or an empty value disables it. */
export function parseBindAddress(value: string): BindAddress | null {
  if (value === '' || value === '0') return null;
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:]*)):([0-9]{1,5})$/.exec(value) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65535) throw new InvalidArgumentError('Use e.g. :8080 or 127.0.0.1:8080, or 0.');
  return { host: bracketed ?? plain ?? '', port };
}

export function parseControllers(list: string): readonly ControllerFlagValue[] {
  const names = list.split(',').map((name) => name.trim().toLowerCase());
  const isKnown = (name: string) => (controllerFlagValues as readonly string[]).includes(name);
  if (names.every(isKnown)) return controllerFlagValues.filter((name) => names.includes(name));
  throw new InvalidArgumentError(`Use a comma-separated list of ${controllerFlagValues.join(', ')}.`);
}

/** Namespace and name of an object. */
export interface ClusterFlagValue {
  readonly namespace: string;
  readonly name: string;
}

export function parseClusterName(value: string): ClusterFlagValue {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(value) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  throw new InvalidArgumentError('Use a namespace and a name, e.g. shop/prod.');
}
