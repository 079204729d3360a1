import type { Machine } from '../../../api/machine.ts';

/** Whether a Machine has an address. On some platforms a node has a private address, which is another fact. */
export const isMachineAt = ({ status }: Machine, address: string): boolean =>
  status?.address === address || hasFact(status, address);

/** Whether the facts of a Machine contain the id of its provider, or its last part, e.g. the number of a server. */
export const hasProviderId = ({ status }: Machine, providerId: string): boolean =>
  hasFact(status, providerId) || hasFact(status, providerId.slice(providerId.lastIndexOf('/') + 1));

const hasFact = (status: Machine['status'], text: string): boolean =>
  text !== '' && Object.values(status?.progress?.facts ?? {}).some((value) => String(value) === text);
