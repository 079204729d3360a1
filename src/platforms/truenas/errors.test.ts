import { describe, expect, it } from 'vitest';
import { TrueNasError } from './error-codes.ts';
import { ConnectionLost, parseFault, toTrueNasError } from './errors.ts';

const failed = (error: number, reason: string, extra: unknown = null) => ({
  code: -32001,
  message: 'Method call error',
  data: { error, errname: 'E', reason, trace: null, extra },
});
const refused = (...extra: [string | null, string, number][]) => ({
  code: -32602,
  message: 'Invalid params',
  data: { error: 22, errname: 'EINVAL', reason: extra.map(([, text]) => text).join('\n'), extra, trace: null },
});

describe('refusals of TrueNAS', () => {
  it.each<[object, string, string]>([
    [
      { code: -32000, message: 'Maximum number of concurrent calls (20) has exceeded' },
      'TRUENAS_TOO_MANY_CALLS',
      'it did not run',
    ],
    [{ code: -32601, message: 'Method does not exist' }, 'TRUENAS_VERSION_UNSUPPORTED', '25.04.0 has no vm.*'],
    [refused([null, 'VM 5 does not exist', 2]), 'TRUENAS_NOT_FOUND', 'get_instance of what is not there'],
    [refused(['id', 'tank/a does not exist', 22]), 'TRUENAS_NOT_FOUND', 'pool.dataset.update of what is not there'],
    [failed(22, '[EINVAL] MatchNotFound()'), 'TRUENAS_NOT_FOUND', 'S11: a miss with get is no ENOENT'],
    [failed(2, '[ENOENT] Path /mnt/x not found'), 'TRUENAS_NOT_FOUND', 'stat of what is not there'],
    [failed(22, '[EINVAL] something else'), 'TRUENAS_CALL_FAILED', 'EINVAL alone is no miss'],
    [refused(['vm_create.name', 'This name already exists.', 17]), 'TRUENAS_ALREADY_EXISTS', 'a VM of this name'],
    [
      refused(['pool_dataset_create.name', 'Path /mnt/tank/a already exists', 22]),
      'TRUENAS_ALREADY_EXISTS',
      'a dataset',
    ],
    [
      failed(14, "[EFAULT] cannot create 'tank/a': dataset already exists"),
      'TRUENAS_ALREADY_EXISTS',
      'a zvol says it in the words of ZFS',
    ],
    [
      refused([
        'pool_dataset_create.volsize',
        'It is not recommended to use more than 80% of your available space for VOLUME',
        22,
      ]),
      'TRUENAS_POOL_FULL',
      'the 80 % rule',
    ],
    [failed(28, '[ENOSPC] no space'), 'TRUENAS_POOL_FULL', 'no space'],
    [failed(14, '[EFAULT] cannot create: out of space'), 'TRUENAS_POOL_FULL', 'no space, in the words of ZFS'],
    [
      refused(['pool_dataset_create.name', 'zpool (tonk) does not exist.', 22]),
      'TRUENAS_POOL_UNKNOWN',
      'a misspelt pool',
    ],
    [
      refused(['pool_dataset_create.name', 'Parent dataset (tank/x) does not exist.', 22]),
      'TRUENAS_REFUSED',
      'a parent is no pool',
    ],
    [refused(['attributes.nic_attach', 'Not a valid choice.', 22]), 'TRUENAS_BRIDGE_UNKNOWN', 'a misspelt bridge'],
    [
      failed(12, '[ENOMEM] Cannot guarantee memory for guest a'),
      'TRUENAS_MEMORY_SHORT',
      'memory that runs short at the start',
    ],
    [
      failed(16, "[EBUSY] cannot destroy 'tank/a': dataset is busy"),
      'TRUENAS_BUSY',
      'S38: a disk whose machine has just gone',
    ],
    [failed(13, '[EACCES] Not authorized'), 'TRUENAS_ROLE_MISSING', 'a role is missing'],
    [failed(13, '[EACCES] Session is expired'), 'TRUENAS_SESSION_ENDED', 'not a matter of roles'],
    [failed(207, '[ENOTAUTHENTICATED] Not authenticated'), 'TRUENAS_SESSION_ENDED', 'logged out'],
    [failed(205, '[EDATASETISLOCKED] locked'), 'TRUENAS_DATASET_LOCKED', 'locked'],
    [refused(['vm_create.vcpus', 'Maximum 255 vcpus are supported.', 22]), 'TRUENAS_REFUSED', 'any other value'],
    [failed(14, '[EFAULT] it broke'), 'TRUENAS_CALL_FAILED', 'any other failure'],
    [{}, 'TRUENAS_CALL_FAILED', 'an error without content is an error'],
    [{ code: -32603, message: 'Internal error', data: 'text' }, 'TRUENAS_CALL_FAILED', 'data of another shape'],
  ])('T52: %j is %s: %s', (body, code) => {
    expect(toTrueNasError(parseFault(body), 'x.y')).toMatchObject({ code });
  });

  it('name each refused value, and the method, on one line', () => {
    const fault = parseFault(refused(['vm_create.name', 'too\nlong', 22], ['vm_create.memory', 'too small', 22]));
    expect((toTrueNasError(fault, 'vm.create') as Error).message).toMatch(
      /vm\.create: vm_create\.name: too long; vm_create\.memory: too small\.$/,
    );
  });

  it('have an unknown outcome when the connection ended, whatever the method', () => {
    expect(toTrueNasError(new ConnectionLost(1006, ''), 'vm.create')).toMatchObject({
      code: 'TRUENAS_OUTCOME_UNKNOWN',
    });
  });

  it('do not include other errors', () => {
    for (const other of [new TypeError('ours'), new TrueNasError('INTERNAL'), 'text', undefined]) {
      expect(toTrueNasError(other, 'x.y')).toBe(other);
    }
  });
});
