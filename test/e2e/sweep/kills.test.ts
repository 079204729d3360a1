import { existsSync } from 'node:fs';
import { describe, it } from 'vitest';
import type { Stage } from '../support/stage.ts';
import { isDrawn, isFull, releaseFor, seed } from './draw.ts';
import { nasLife as script } from './nas-life.ts';
import { Reaper } from './reaper.ts';
import { Stopper } from './stopper.ts';
import { only, type Striker } from './sweep.ts';
import { asProgram, expectSameEndAsAlone } from './trial.ts';

const [first, second, third] = [releaseFor(0), releaseFor(1), releaseFor(2)] as const;

/** Where a death between the work and its answer could do the most harm: each makes, starts or unmakes something for good. */
const worst: readonly RegExp[] = [
  /^kube POST \S+\/leases for a leader/,
  /^kube POST \S+\/secrets$/,
  /^truenas vm\.create /,
  /^truenas POST \/_upload /,
  /^talos \S+\/Bootstrap /,
  /^workload POST \S+\/token \(renew\)/,
  /^truenas vm\.delete 1/,
  /^kube DELETE \S+\/leases\//,
];

describe.concurrent('a provider that is killed when a call was carried out and not yet answered, and started again', () => {
  it(`at each call of a life, on TrueNAS ${first}: the same end, nothing twice, nothing left`, {
    timeout: 1_200_000,
  }, async () => {
    const striker = (stage: Stage): Striker => new Reaper(stage);
    await expectSameEndAsAlone({ script, subnet: '127.42.117', truenas: first, striker });
  });

  const calls = isFull ? [/./] : worst;
  it.skipIf(!existsSync('dist/main.js'))(
    `as a process of its own, with SIGKILL, its Lease left to run out, on TrueNAS ${second}`,
    { timeout: calls === worst ? 1_200_000 : 3_600_000 },
    async () => {
      const due = (name: string): boolean => calls.some((call) => call.test(name));
      const striker = (stage: Stage): Striker => only(due, new Reaper(stage, { patient: true }));
      await expectSameEndAsAlone({ script, subnet: '127.42.119', truenas: second, manner: asProgram, striker, due });
    },
  );

  it(`or is stopped in order while one of them is under way, on TrueNAS ${third} (SWEEP=${seed})`, {
    timeout: 1_200_000,
  }, async () => {
    const due = (name: string): boolean => isDrawn('stop', name, 2);
    const striker = (stage: Stage): Striker => only(due, new Stopper(stage));
    await expectSameEndAsAlone({ script, subnet: '127.42.118', truenas: third, striker, due });
  });
});
