import { chmod, chown, copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { deadlineSignal } from '../../../src/lib/deadline.ts';
import { noLog } from '../../../src/lib/log.ts';
import { ClusterSession } from '../../demo/cluster-session.ts';
import { ProviderProgram } from '../../demo/program.ts';
import { freePort } from '../../peers/peer-process.ts';
import { makeImageTree } from '../../setup/image-tree.ts';
import { describeUnlessMissing } from '../../support/describe-unless-missing.ts';
import { eventually } from '../../support/eventually.ts';
import { installOpenmcpKinds } from '../../world/operator/install-openmcp.ts';
import { startTestPlatformCluster } from '../../world/operator/platform-cluster-fixture.ts';

/** UID of the image's user. */
const user = 65_532;
const missing =
  process.getuid?.() === 0 ? undefined : 'only an administrator can start a program as another user; run this as root';

describeUnlessMissing('the files of the image', missing, () => {
  let folder: string;
  let platform: Awaited<ReturnType<typeof startTestPlatformCluster>>;
  let words: string[];
  const environment = { POD_NAMESPACE: 'openmcp-system', POD_NAME: 'image' };

  const start = (...more: string[]): ProviderProgram =>
    new ProviderProgram([...more, ...words], environment, join(folder, 'log'), {
      main: join(folder, 'image/app/main.js'),
      user,
    });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'image-'));
    await chmod(folder, 0o755);
    makeImageTree(join(folder, 'image'));
    platform = await startTestPlatformCluster();
    const { client } = await ClusterSession.fromFile(platform.kubeconfig);
    await installOpenmcpKinds(client, noLog, deadlineSignal(60));
    await client.close();
    // Stands for the ServiceAccount of a Pod, readable by its user only.
    const kubeconfig = join(folder, 'kubeconfig');
    await copyFile(platform.kubeconfig, kubeconfig);
    await chown(kubeconfig, user, user);
    words = ['--environment=image', '--provider-name=talos', `--kubeconfig=${kubeconfig}`];
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('hold the program and the licences of its contents, and no build tools or sources', async () => {
    const names = await readdir(join(folder, 'image'), { recursive: true });
    expect(names).toEqual(expect.arrayContaining(['app/main.js', 'app/LICENSE', 'app/THIRD-PARTY-NOTICES.txt']));
    expect(names.filter((name) => /node_modules|\.(ts|map|test\.js)$/.test(name))).toEqual([]);
  });

  it('run for a user without write access anywhere', async () => {
    const init = start('init');
    expect(await init.exited, await init.tail()).toBe(0);
    const probes = `127.0.0.1:${await freePort('127.0.0.1')}`;
    const run = start('run', `--health-probe-bind-address=${probes}`);
    try {
      await eventually('it is ready', async () => {
        const { statusCode, body } = await request(`http://${probes}/readyz`, { signal: AbortSignal.timeout(2000) });
        await body.dump();
        return statusCode === 200;
      });
    } finally {
      expect(await run.stop(), await run.tail()).toBe(0);
    }
  });
});
