import { type Browser, chromium } from 'playwright-core';
import { findPeer, missingPeers } from './find-peer.ts';

/** A sentence for tests that are skipped because there is no browser. */
export const missingForChromium = (): string | undefined => missingPeers('chromium');

/** Chromium without a window. It needs no sandbox of its own: it loads pages of the test only. */
export const startChromium = async (): Promise<Browser> =>
  await chromium.launch({ executablePath: findPeer('chromium') ?? '', args: ['--no-sandbox'] });
