import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRescueFixture, type RescueFixture } from '../../../../world/robot/rescue/rescue-fixture.ts';
import recorded from '../../../../world/robot/rescue/shell/fixtures/recorded.json' with { type: 'json' };

let box: RescueFixture;
beforeAll(() => {
  box = createRescueFixture({ disks: {} });
});
afterAll(() => box.close());

const bytes = (text: string): string => Buffer.from(text).toString('latin1');
const environment = { HOME: '/root', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

type Case = { script: string; dash: [stdout: string, status: number]; bash: [stdout: string, status: number] };
const cases = recorded as unknown as readonly Case[];

/** What a real shell does with scripts: all from one small process, since a large one takes its time to start others. */
function runAll(shell: string, scripts: readonly string[]): [stdout: string, status: number][] {
  const folder = mkdtempSync(join(tmpdir(), 'shell-'));
  try {
    for (const [index, script] of scripts.entries()) writeFileSync(join(folder, `${index}.in`), script);
    const loop = `mkdir empty; for one in *.in; do (cd empty; ${shell} -c "$(cat "../$one")" </dev/null >"../$one.out" 2>/dev/null); echo $? >"$one.status"; done`;
    spawnSync('sh', ['-c', loop], { cwd: folder, env: environment });
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    return scripts.map((_, index) => [read(`${index}.in.out`), Number(read(`${index}.in.status`))]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe.each(['dash', 'bash'] as const)('%s', (dialect) => {
  const name = dialect === 'dash' ? 'sh' : 'bash';

  it.each(cases)(
    'does with $script what the real one was seen to do',
    async ({ script, [dialect]: [stdout, status] }) => {
      const outcome = await box.run([name, '-c', bytes(script)]);
      expect([outcome.stdout, outcome.status]).toEqual([stdout, status]);
    },
  );

  it('was recorded from the program that is installed here', (context) => {
    const found = spawnSync(dialect, ['-c', 'echo yes'], { encoding: 'utf8' });
    if (found.stdout !== 'yes\n') return context.skip(`${dialect} is not installed here`);
    // Those that leave the shell's own words alone: places, names and times differ from machine to machine.
    const own = cases.filter(({ script }) => !/\/tmp|\/root|~|kill|sleep|\$0|\n$|&(?!&)/.test(script));
    const real = runAll(
      dialect,
      own.map(({ script }) => script),
    );
    expect(real).toEqual(own.map(({ [dialect]: outcome }) => outcome));
  });

  const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  const malicious = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'\'"\\$`!*?[]{}()<>|&;#~= \t\n-%aé\u{1f600}') }),
    fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\0', '')),
  );

  it('gives back whatever was quoted once, byte for byte', async () => {
    await fc.assert(
      fc.asyncProperty(malicious, async (text) => {
        const outcome = await box.run([name, '-c', bytes(`printf %s ${quote(text)}`)]);
        expect(outcome).toEqual({ stdout: text, stderr: '', status: 0 });
      }),
      { numRuns: 300 },
    );
  });

  it('gives back what was quoted for one shell within another', async () => {
    await fc.assert(
      fc.asyncProperty(malicious, async (text) => {
        const inner = `x=${quote(text)}; printf %s "$x"`;
        const outcome = await box.run([name, '-c', bytes(`bash -c ${quote(`sh -c ${quote(inner)}`)}`)]);
        expect(outcome).toEqual({ stdout: text, stderr: '', status: 0 });
      }),
      { numRuns: 100 },
    );
  });

  it('makes one argument of one variable in double quotes, whatever is in it', async () => {
    await fc.assert(
      fc.asyncProperty(malicious, async (text) => {
        const script = `set -- ${quote(text)}; x=$1; set -- "$x" "a$x" "$@"; printf '%s' "$#"`;
        expect((await box.run([name, '-c', bytes(script)])).stdout).toBe('3');
      }),
      { numRuns: 100 },
    );
  });

  it('ends with a sentence and status 2, and never otherwise, when quotes are not closed', async () => {
    for (const script of ["echo 'a", 'echo "a', 'echo $(echo', 'echo `a', 'echo $' + '{x']) {
      const outcome = await box.run([name, '-c', script]);
      expect(outcome.stderr).not.toBe('');
      expect([outcome.stdout, outcome.status]).toEqual(['', 2]);
    }
  });
});

describe('a pipe', () => {
  it('holds its writer back: what is not read is not made', async () => {
    const { stdout } = await box.sh(
      '{ cat /dev/zero; echo 1 >/tmp/over; } | { head -c 1; sleep 5; [ -e /tmp/over ] || echo no; }',
    );
    expect(stdout).toBe('\0no\n');
  });

  it('ends its writer when nobody reads any more, with the status of SIGPIPE', async () => {
    const script =
      '{ cat /dev/zero; echo $? >/tmp/status; } | head -c 1; until [ -s /tmp/status ]; do sleep 1; done; cat /tmp/status';
    expect((await box.sh(script)).stdout).toBe('\x00141\n');
  });

  it('breaks no writer that has written what fits', async () => {
    expect((await box.sh('{ echo a; echo $? >/tmp/fits; } | true; cat /tmp/fits')).stdout).toBe('0\n');
  });
});

describe('a script that needs more than is simulated fails, and does not go on', () => {
  it.each([
    'x=$' + '{1:-none}; echo on',
    'echo ~/x; echo on',
    'echo `date`; echo on',
    'cat <<X; echo on\nX',
    'echo a &>/tmp/x; echo on',
    'echo {a,b}; echo on',
    "echo $'a'; echo on",
    '[[ a ]] && echo on',
    'function f { echo on; }; f',
    'a=(1); echo on',
    'cat <(echo a); echo on',
    'set -e; echo on',
    'set -o pipefail; echo on',
    'IFS=:; echo on',
    'read x </dev/null; echo on',
    '[ a -o b ]; echo on',
    'eval true; echo on',
    "trap 'echo x' TERM; echo on",
    "printf '%d' 1; echo on",
    'echo $((1 << 2)); echo on',
    'x=1 :; echo on',
  ])('%s', async (script) => {
    const { stdout, stderr, status } = await box.run(['bash', '-c', script]);
    expect([stdout, stderr === '', status === 0]).toEqual(['', false, false]);
  });

  it('and so does a program with an unknown option', async () => {
    const { stdout, stderr, status } = await box.sh('lsblk --json');
    expect([stdout, stderr, status]).toEqual(['', 'lsblk: --json is not simulated\n', 2]);
  });
});
