import { expect, it } from 'vitest';
import { aCondition, aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Condition } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { describeNodesHealthy } from './describe-remediation.ts';

const silent = (reason: Condition['reason'] = 'Updating'): Machine =>
  aMachine(0, [
    { ...aCondition('NodeHealthy', 'False'), reason: 'NodeUnreachable' },
    { ...aCondition('UpToDate', 'False'), reason },
  ]);
const inUpdate = (machine: Machine): Machine => ({
  ...machine,
  spec: { ...machine.spec, revision: 'r' },
  status: { ...machine.status!, pending: { revision: 'r', class: 'os', fields: ['talos.version'] } },
});
const describe = (machine: Machine) => describeNodesHealthy([machine], { kind: 'none' }, undefined);

it('reports a node that is unhealthy', () => {
  expect(describe(silent())).toMatchObject({ status: 'False', reason: 'NodeUnreachable' });
});

it('expects a node to be away while it restarts for an update', () => {
  expect(describe(inUpdate(silent()))).toMatchObject({ status: 'True' });
});

it('reports a node that is away after an update that failed', () => {
  expect(describe(inUpdate(silent('UpdateFailed')))).toMatchObject({ status: 'False' });
});
