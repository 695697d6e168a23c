import { ApiError } from "../api/client";

const RETRIES = 5;
const wait = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

/** Repeats a request that changes nothing when it is repeated: a limit of requests passes by itself, and so does an outage. */
export async function patiently<T>(request: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await request();
    } catch (error) {
      const canRepeat = error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status === 503);
      if (!canRepeat || attempt === RETRIES || error.retryAfterS > 60) throw error;
      await wait(error.retryAfterS || attempt);
    }
  }
}
